"""The functions of a Makefile that are about names, and how its patterns match."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Sequence
from pathlib import Path

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands for what only running something could tell, such as $(shell ...)."""


def stem_of(pattern: str, name: str) -> str | None:
    before, percent, after = pattern.partition("%")
    if not percent:
        return "" if pattern == name else None
    fits = name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
    return name[len(before) : len(name) - len(after)] if fits else None


def close(text: str, at: int) -> int:
    opening, closing, depth = text[at], {"(": ")", "{": "}"}[text[at]], 0
    for number in range(at, len(text)):
        depth += (text[number] == opening) - (text[number] == closing)
        if depth == 0:
            return number
    return len(text)


def split(text: str) -> list[str]:
    parts, depth, begin = list[str](), 0, 0
    for number, char in enumerate(text):
        depth += (char in "({") - (char in ")}")
        if char == "," and depth == 0:
            parts.append(text[begin:number])
            begin = number + 1
    return [*parts, text[begin:]]


def patsubst(_folder: Path, given: Sequence[str]) -> str:
    before, after, text = (*given, "", "", "")[:3]
    changed: list[str] = []
    for word in text.split():
        stem = stem_of(before, word)
        changed.append(word if stem is None else after.replace("%", stem))
    return " ".join(changed)


def _wildcard(folder: Path, given: Sequence[str]) -> str:
    found: list[str] = []
    for pattern in " ".join(given).split():
        if not Path(pattern).is_absolute() and ".." not in Path(pattern).parts:
            one_level = pattern.replace("**", "*")  # which is what it means to make
            found += sorted(os.path.relpath(each, folder) for each in folder.glob(one_level))
    return " ".join(found)


def _words(change: Callable[[str], str]) -> Callable[[Path, Sequence[str]], str]:
    return lambda _folder, given: " ".join(change(word) for word in " ".join(given).split())


def _filter(keep: bool) -> Callable[[Path, Sequence[str]], str]:
    def chosen(_folder: Path, given: Sequence[str]) -> str:
        patterns = given[0].replace("%", "*").split()
        fit = (w for w in given[-1].split() if any(fnmatch.fnmatchcase(w, p) for p in patterns) is keep)
        return " ".join(fit)

    return chosen


FUNCTIONS: dict[str, Callable[[Path, Sequence[str]], str]] = {
    "wildcard": _wildcard,
    "patsubst": patsubst,
    "subst": lambda _f, g: g[2].replace(g[0], g[1]) if len(g) == 3 else UNKNOWN,
    "strip": lambda _f, g: " ".join(",".join(g).split()),
    "notdir": _words(lambda word: Path(word).name),
    "basename": _words(lambda word: word.rpartition(".")[0] or word),
    "dir": _words(lambda word: f"{os.path.dirname(word) or '.'}/"),  # noqa: PTH120  (as make does it)
    "addprefix": lambda _f, g: " ".join(g[0] + word for word in g[-1].split()),
    "addsuffix": lambda _f, g: " ".join(word + g[0] for word in g[-1].split()),
    "sort": lambda _f, g: " ".join(sorted(set(" ".join(g).split()))),
    "firstword": lambda _f, g: next(iter(g[0].split()), ""),
    "filter": _filter(True),
    "filter-out": _filter(False),
    "abspath": _words(lambda word: word),
}
