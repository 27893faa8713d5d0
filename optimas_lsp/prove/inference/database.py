"""A program from ``compile_commands.json``: its compile commands as they stand, and a link of what they make."""

from __future__ import annotations

import itertools
import json
import os
import shlex
from pathlib import Path
from typing import Any, cast

from optimas_lsp.prove.inference.wanted import BUILD, Built, Wanted, has_main, uses

MOST_SOURCES, LARGEST = 400, 50_000_000
"""Sources that a program is made of, and bytes of a database; larger ones are left to a [target]."""

PLACES = ("compile_commands.json", "build/compile_commands.json")
_LINK_TOO = (
    "-arch",
    "--gpu-architecture",
    "-gencode",
    "--generate-code",
    "-rdc",
    "--relocatable-device-code",
    "-L",
    "-l",
)
_WITH_VALUE = frozenset({"-arch", "--gpu-architecture", "-gencode", "--generate-code", "-L"})
_INTO = 'mkdir -p "$1" optimas-build && cd "$1" && shift && exec "$@"'

Entry = tuple[Path, Path, tuple[str, ...]]
"""The source, the folder that its command runs in, and the command."""


def from_database(wanted: Wanted) -> tuple[Built | None, str]:
    """The program that the database's sources make, and a sentence that says why there is none ('' without one)."""
    place = next((wanted.folder / each for each in PLACES if (wanted.folder / each).is_file()), None)
    if place is None:
        return None, ""
    name, entries = wanted.name(place), _entries(place, wanted.folder)
    if len(entries) > MOST_SOURCES:
        return None, f"{name} compiles {len(entries)} sources, more than one program can be inferred from"
    if not any(uses([source], wanted.source, _includes(entry)) for entry in entries for source in entry[:1]):
        return None, f"{name} compiles nothing that uses {wanted.name(wanted.source)}"
    mains = [entry for entry in entries if has_main(entry[0])]
    if len(mains) != 1:
        own = [entry for entry in mains if entry[0].resolve() == wanted.source.resolve()]
        if len(own) != 1:
            count = "none of" if not mains else f"{len(mains)} of"
            return None, f"{count} the sources in {name} define main, so the program is not known"
        mains = own
    parts = [*mains, *(each for each in entries if not has_main(each[0]))]
    commands: list[tuple[str, ...]] = []
    for number, entry in enumerate(parts):
        if any(word.startswith("@") or word in {"--options-file", "-optf"} for word in entry[2]):
            return None, f"{name} refers to files of options, which a copy of the sources does not have"
        commands.append(_compile(entry, f"{BUILD}/{number}.o", wanted.folder))
    binary = f"{BUILD}/{mains[0][0].stem}"
    linker = next((each[2] for each in parts if Path(each[2][0]).name == "nvcc"), parts[0][2])
    objects = [f"{BUILD}/{number}.o" for number in range(len(parts))]
    commands.append((linker[0], *_link_options(linker), "-o", binary, *objects))
    folders = tuple(folder for each in parts for folder in _includes(each))
    return Built(mains[0][0].stem, tuple(commands), binary, tuple(each[0] for each in parts), folders), ""


def _entries(place: Path, folder: Path) -> list[Entry]:
    try:
        data: object = [] if place.stat().st_size > LARGEST else json.loads(place.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    found: dict[Path, Entry] = {}
    for each in cast("list[object]", data) if isinstance(data, list) else []:
        entry = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        directory = place.parent / str(entry.get("directory", "."))
        source = (directory / str(entry.get("file", ""))).resolve()
        words: object = entry.get("arguments") or _split(str(entry.get("command", "")))
        command = tuple(str(word) for word in cast("list[object]", words)) if isinstance(words, list) else ()
        inside = directory.resolve().is_relative_to(folder.resolve()) and source.is_relative_to(folder.resolve())
        if command and inside and source.is_file():
            found.setdefault(source, (source, directory.resolve(), command))
    return list(found.values())


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _compile(entry: Entry, output: str, folder: Path) -> tuple[str, ...]:
    """The entry's command, for the copy: paths into the folder relative, its object where the link looks for it."""
    _source, directory, command = entry
    root, where = str(folder.resolve()), os.path.relpath(directory, folder.resolve())
    up = os.path.relpath(root, directory)
    words = [word.replace(root, up) if root in word else word for word in command]
    if "-o" in words[:-1]:
        words[words.index("-o") + 1] = str(Path(up, output))
    else:
        words += ["-o", str(Path(up, output))]
    words += [] if {"-c", "-dc"} & set(words) else ["-c"]
    return tuple(words) if where == "." else ("sh", "-c", _INTO, "sh", where, *words)


def _link_options(command: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    for at, word in enumerate(command[1:], 1):
        if word in _WITH_VALUE:
            kept += command[at : at + 2]
        elif word.startswith(_LINK_TOO):
            kept.append(word)
    return kept


def _includes(entry: Entry) -> list[Path]:
    source, directory, command = entry
    after = [b for a, b in itertools.pairwise(command) if a in {"-I", "-isystem", "-iquote"}]
    joined = [word[2:] for word in command if word.startswith("-I") and len(word) > 2]
    return [source.parent, *(directory / each for each in (*after, *joined))]
