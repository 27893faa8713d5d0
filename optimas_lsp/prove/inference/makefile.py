"""The programs that a Makefile makes, read without running make: rules, variables, patterns and the usual functions."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optimas_lsp.prove.inference.make_functions import FUNCTIONS, UNKNOWN, close, patsubst, split, stem_of
from optimas_lsp.prove.inference.wanted import SOURCES, Built, Wanted, text_of

FILES = ("GNUmakefile", "makefile", "Makefile")
COMPILERS = frozenset(
    {"nvcc", "g++", "gcc", "cc", "c++", "clang", "clang++", "nvc++", "hipcc", "mpicc", "mpicxx", "mpic++"}
)
MOST_STEPS = 50_000
"""Rules and references that are followed; what is left then is UNKNOWN."""

LONGEST = 100_000
"""Characters of one expanded text."""

_ASSIGNED = re.compile(r"^\s*(?:export\s+|override\s+)*([\w.-]+)\s*(:{0,3}=|\?=|\+=|!=)\s*(.*)$")
_BESIDE = (".cu", ".cpp", ".cc", ".c")
"""Suffixes of the source that an object without a rule is made of."""
_NO_PROGRAM = frozenset(
    {"-c", "-dc", "-dw", "-dlink", "-shared", "--shared", "-lib", "-ptx", "-cubin", "-fatbin", "-E"}
)


@dataclass
class _Rule:
    prerequisites: list[str] = field(default_factory=list[str])
    recipe: list[str] = field(default_factory=list[str])


@dataclass
class Makefile:
    """What was read. ``conditions``: some were not evaluated; ``included``: another file was not looked at."""

    folder: Path
    name: str
    variables: dict[str, str] = field(default_factory=lambda: {"CC": "cc", "CXX": "g++", "MAKE": "make", "RM": "rm -f"})
    rules: dict[str, _Rule] = field(default_factory=dict[str, _Rule])
    patterns: list[tuple[str, _Rule]] = field(default_factory=list[tuple[str, _Rule]])
    phony: set[str] = field(default_factory=set[str])
    conditions: bool = False
    included: bool = False
    left: int = MOST_STEPS

    def programs(self) -> tuple[Built, ...]:
        """The programs, in the order of the file, each with the sources that its rule leads to."""
        found: list[Built] = []
        for name in self.rules:
            found += self._program(name)
        return tuple(found)

    def _program(self, target: str) -> Iterator[Built]:
        if UNKNOWN in target:
            return
        prerequisites, recipe = self._rule(target)
        sources = self._sources(prerequisites)
        for command in _commands(recipe):
            links = (command and Path(command[0]).name in COMPILERS) or UNKNOWN in "".join(command[:1])
            if not links or _NO_PROGRAM & set(command):
                continue
            output = next((b for a, b in itertools.pairwise(command) if a == "-o"), "")
            if not output and not any(Path(each).suffix in SOURCES for each in command):
                continue
            for each in command:
                if Path(each).suffix in SOURCES:
                    sources.setdefault(each)
            binary = os.path.normpath(output or "a.out")
            if UNKNOWN in binary or Path(binary).is_absolute() or binary.startswith(".."):
                continue
            paths = tuple(self.folder / each for each in sources if (self.folder / each).is_file())
            folders = tuple(self.folder / each[2:] for each in command if each.startswith("-I") and len(each) > 2)
            yield Built(Path(binary).name, (("make", target),), binary, paths, folders)
            return

    def _rule(self, target: str) -> tuple[list[str], str]:
        """Prerequisites and expanded recipe of a target: its own rule's, else a pattern's."""
        self.left -= 1
        if self.left < 0:
            return [], ""
        own = self.rules.get(target, _Rule())
        prerequisites, recipe, stem = own.prerequisites, own.recipe, ""
        if not recipe:
            for pattern, rule in self.patterns:
                found = stem_of(pattern, target)
                needed = [each.replace("%", found) for each in rule.prerequisites] if found is not None else []
                if found is not None and all((self.folder / n).is_file() or n in self.rules for n in needed[:1]):
                    prerequisites, recipe, stem = [*needed, *prerequisites], rule.recipe, found
                    break
        automatic = {
            "@": target,
            "<": prerequisites[0] if prerequisites else "",
            "^": " ".join(dict.fromkeys(prerequisites)),
            "+": " ".join(prerequisites),
            "?": " ".join(prerequisites),
            "*": stem,
            "@D": str(Path(target).parent),
            "@F": Path(target).name,
        }
        return prerequisites, "\n".join(self.expand(line, automatic) for line in recipe)

    def _sources(self, names: Sequence[str]) -> dict[str, None]:
        """The sources that files are made of, directly or not, in order."""
        found, seen, waiting = dict[str, None](), set[str](), list(reversed(names))
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if Path(name).suffix in SOURCES:
                found.setdefault(name)
                continue
            prerequisites, recipe = self._rule(name)
            if not recipe and name.endswith(".o"):
                beside = [name[:-2] + suffix for suffix in _BESIDE]
                prerequisites = [*prerequisites, *(each for each in beside if (self.folder / each).is_file())]
            for command in _commands(recipe):
                for each in command:
                    if Path(each).suffix in SOURCES:
                        found.setdefault(each)
            waiting += reversed(prerequisites)
        return found

    def expand(self, text: str, automatic: dict[str, str] | None = None, depth: int = 0) -> str:
        """The text with variables and the functions about names put in; UNKNOWN for what is not understood."""
        if depth > 32:
            return UNKNOWN
        out, at = "", 0
        while at < len(text) and len(out) <= LONGEST:
            if text[at] != "$" or at + 1 == len(text):
                out += text[at]
                at += 1
                continue
            following = text[at + 1]
            if following == "$":
                out, at = out + "$", at + 2
            elif following in "({":
                end = close(text, at + 1)
                out += self._reference(text[at + 2 : end], automatic or {}, depth + 1)
                at = end + 1
            else:
                out += (automatic or {}).get(following, self.variables.get(following, ""))
                at += 2
        return out

    def _reference(self, inner: str, automatic: dict[str, str], depth: int) -> str:
        self.left -= 1
        if self.left < 0:
            return UNKNOWN
        name, _, rest = inner.partition(" ")
        if rest and name in FUNCTIONS:
            arguments = [self.expand(each, automatic, depth).strip() for each in split(rest)]
            return FUNCTIONS[name](self.folder, arguments)
        if rest and re.fullmatch(r"[a-z-]+", name):
            return UNKNOWN
        inner = self.expand(inner, automatic, depth)
        variable, colon, change = inner.partition(":")
        if variable in automatic:
            value = automatic[variable]
        else:
            value = self.expand(self.variables.get(variable, ""), automatic, depth)
        if colon and "=" in change:
            before, after = change.split("=", 1)
            before, after = (before, after) if "%" in before else (f"%{before}", f"%{after}")
            return patsubst(self.folder, [before, after, value])
        return value


def read_makefile(wanted: Wanted) -> Makefile | None:
    """The folder's Makefile; None when there is none."""
    place = next((wanted.folder / each for each in FILES if (wanted.folder / each).is_file()), None)
    if place is None:
        return None
    made = Makefile(wanted.folder, place.name)
    open_rules: list[_Rule] = []
    for whole in text_of(place).replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        if whole.startswith("\t"):
            for rule in open_rules:
                rule.recipe.append(whole.strip())
            continue
        line = re.sub(r"(?<!\\)#.*", "", whole).rstrip()
        if not line.strip():
            continue
        first = line.split(maxsplit=1)[0]
        if first in {"ifeq", "ifneq", "ifdef", "ifndef", "else", "endif"}:
            made.conditions = True
        elif first in {"include", "-include", "sinclude"}:
            made.included = True
        elif assigned := _ASSIGNED.match(line):
            open_rules = []
            _assign(made, *assigned.groups())
        else:
            open_rules = _state(made, made.expand(line))
    return made


def _assign(made: Makefile, name: str, how: str, value: str) -> None:
    value = value.strip()
    if how == "!=":
        made.variables[name] = UNKNOWN
    elif how == "+=":
        made.variables[name] = f"{made.variables.get(name, '')} {value}".strip()[:LONGEST]
    elif how == "?=":
        made.variables.setdefault(name, value)
    else:
        made.variables[name] = value if how == "=" else made.expand(value).replace("$", "$$")


def _state(made: Makefile, line: str) -> list[_Rule]:
    """The rules that a line opens; none when it is no rule."""
    before, colon, rest = line.partition(":")
    targets, rest = before.split(), rest.removeprefix(":")
    if not colon or not targets or "=" in before or rest.startswith("="):
        return []
    if _ASSIGNED.match(rest):  # a variable for these targets only
        return []
    named, _, first = rest.partition(";")
    prerequisites = named.split("|")[0].split()
    stated: list[_Rule] = []
    if ":" in named:  # a static pattern: the part before is what it is for
        pattern, _, needed = named.partition(":")
        for target in targets:
            stem = stem_of(pattern.strip(), target) or ""
            rule = made.rules.setdefault(target, _Rule())
            rule.prerequisites += [each.replace("%", stem) for each in needed.split("|")[0].split()]
            stated.append(rule)
        return stated
    for target in targets:
        if target == ".PHONY":
            made.phony.update(prerequisites)
        elif "%" in target:
            rule = _Rule(prerequisites)
            made.patterns.append((target, rule))
            stated.append(rule)
        elif not target.startswith("."):
            rule = made.rules.setdefault(target, _Rule())
            rule.prerequisites += prerequisites
            stated.append(rule)
    for rule in stated:
        if first.strip():
            rule.recipe.append(first.strip())
    return stated


def _commands(recipe: str) -> Iterator[list[str]]:
    """The commands of a recipe as words, without make's and the shell's decoration."""
    for line in recipe.splitlines():
        for part in re.split(r"&&|\|\||;", line.strip().lstrip("@-+")):
            try:
                words = shlex.split(part)
            except ValueError:
                continue
            while words and "=" in words[0] and not words[0].startswith("-"):
                words = words[1:]
            if words:
                yield words
