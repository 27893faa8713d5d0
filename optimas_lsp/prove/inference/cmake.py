"""The programs that a CMakeLists.txt makes, read without running CMake: the commands that say so, variables, loops."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optimas_lsp.prove.inference.wanted import BUILD, SOURCES, Built, Wanted, text_of

FILE = "CMakeLists.txt"
MOST_FILES = 2000
"""Files that a GLOB may name; more are left out."""

MOST_LOOKED = 50_000
"""Files that a recursive GLOB looks at."""

MOST_COMMANDS = 50_000
"""Commands that are followed, loops and subfolders included; the rest is not."""

LONGEST = 100_000
"""Characters of one value."""

_TOKEN = re.compile(
    r"#\[(=*)\[.*?(?:\]\1\]|\Z)|#[^\n]*|\[(=*)\[(?P<bracket>.*?)(?:\]\2\]|\Z)|\"(?P<quoted>(?:\\.|[^\"\\])*)\"|(?P<open>\()|(?P<close>\))"
    r"|(?P<word>(?:\\.|\$\{[^}\s]{0,200}\}|\$<[^>\s]{0,200}>|[^\s()#\"\\])+)",
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_CLOSING = {"function": "endfunction", "macro": "endmacro", "foreach": "endforeach", "while": "endwhile"}

Command = tuple[str, list[tuple[str, bool]]]
"""A command's name in lower case and its arguments, each with whether it was quoted."""


@dataclass
class _Target:
    sources: list[Path] = field(default_factory=list[Path])
    folders: list[Path] = field(default_factory=list[Path])
    libraries: list[str] = field(default_factory=list[str])
    program: bool = False
    output: str = ""
    place: str = ""


@dataclass
class Project:
    """What was read: targets by name, whether conditions were met, and what was not understood."""

    root: Path
    targets: dict[str, _Target] = field(default_factory=dict[str, _Target])
    named: bool = False
    conditions: bool = False
    architectures: bool = False
    variables: dict[str, str] = field(default_factory=dict[str, str])
    folders: set[Path] = field(default_factory=set[Path])
    left: int = MOST_COMMANDS

    def programs(self, capability: int | None) -> tuple[Built, ...]:
        """The programs, each with the sources of the project's own libraries that it links."""
        cuda = [f"-DCMAKE_CUDA_ARCHITECTURES={capability}"] if capability and not self.architectures else []
        configure = ("cmake", "-S", ".", "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", *cuda)
        found: list[Built] = []
        for name, target in self.targets.items():
            place = Path(os.path.normpath(Path(target.place, target.output or name)))
            if not target.program or "${" in str(place) or not place.is_relative_to(self.root):
                continue
            sources, folders = self._whole(name)
            commands = (configure, ("cmake", "--build", BUILD, "--target", name))
            binary = place.relative_to(self.root).as_posix()
            found.append(Built(name, commands, binary, tuple(sources), tuple(folders)))
        return tuple(found)

    def _whole(self, name: str) -> tuple[list[Path], list[Path]]:
        """Sources and header folders of a target and of the project's libraries that it links, directly or not."""
        sources, folders, waiting, seen = list[Path](), list[Path](), [name], set[str]()
        while waiting:
            one = waiting.pop()
            target = self.targets.get(one)
            if target is not None and one not in seen:
                seen.add(one)
                sources += target.sources
                folders += target.folders
                waiting += reversed(target.libraries)
        return sources, folders


def read_project(wanted: Wanted) -> Project | None:
    """What the folder's CMakeLists.txt and those it adds say; None when there is none that names a project."""
    if not (wanted.folder / FILE).is_file():
        return None
    root = wanted.folder.resolve()
    binary = root / BUILD
    project = Project(root)
    project.variables = {
        "CMAKE_SOURCE_DIR": str(root),
        "PROJECT_SOURCE_DIR": str(root),
        "CMAKE_BINARY_DIR": str(binary),
        "PROJECT_BINARY_DIR": str(binary),
        "CMAKE_BUILD_TYPE": "Release",
    }
    _folder(project, root, binary, dict(project.variables), [])
    return project if project.named else None


def _folder(project: Project, folder: Path, binary: Path, variables: dict[str, str], includes: list[Path]) -> None:
    if folder in project.folders:
        return
    project.folders.add(folder)
    variables.update(CMAKE_CURRENT_SOURCE_DIR=str(folder), CMAKE_CURRENT_BINARY_DIR=str(binary))
    scope = _Scope(project, folder, binary, variables, includes)
    scope.run(list(_commands(text_of(folder / FILE))))


@dataclass
class _Scope:
    project: Project
    folder: Path
    binary: Path
    variables: dict[str, str]
    includes: list[Path]

    def run(self, commands: Sequence[Command]) -> None:
        at = 0
        while at < len(commands) and self.project.left > 0:
            self.project.left -= 1
            name, arguments = commands[at]
            if name in _CLOSING:
                end = _end(commands, at, name)
                if name == "foreach":
                    self._loop(arguments, commands[at + 1 : end])
                at = end
            else:
                self._one(name, self._expand(arguments))
            at += 1

    def _loop(self, arguments: list[tuple[str, bool]], body: Sequence[Command]) -> None:
        words = self._expand(arguments)
        if not words:
            return
        name, items = words[0], words[1:]
        if items[:2] == ["IN", "LISTS"]:
            items = [item for each in items[2:] for item in self.variables.get(each, "").split(";") if item]
        elif items[:2] == ["IN", "ITEMS"]:
            items = items[2:]
        for item in items[:256]:
            self.variables[name] = item
            self.run(body)

    def _expand(self, arguments: list[tuple[str, bool]]) -> list[str]:
        words: list[str] = []
        for text, quoted in arguments:
            value = self._value(text)
            words += [value] if quoted else [each for each in value.split(";") if each]
        return words

    def _value(self, text: str) -> str:
        for _ in range(16):
            after = _VARIABLE.sub(lambda m: self.variables.get(m.group(1), f"$\0{{{m.group(1)}}}"), text)
            if after == text or len(after) > LONGEST:
                break
            text = after
        return text.replace("$\0{", "${")

    def _one(self, name: str, words: list[str]) -> None:
        if name in {"if", "elseif"}:
            self.project.conditions = True
        elif name == "project" and words:
            self.project.named = True
            self.variables["PROJECT_NAME"] = self.variables.setdefault("CMAKE_PROJECT_NAME", words[0])
        elif name == "set" and words:
            kept = words[1 : words.index("CACHE")] if "CACHE" in words else words[1:]
            self.variables[words[0]] = ";".join(each for each in kept if each != "PARENT_SCOPE")[:LONGEST]
            self.project.architectures |= words[0] == "CMAKE_CUDA_ARCHITECTURES"
        elif name == "list" and words[:1] == ["APPEND"] and len(words) > 1:
            grown = ";".join([*filter(None, [self.variables.get(words[1], "")]), *words[2:]])
            self.variables[words[1]] = grown[:LONGEST]
        elif name == "file" and words[:1] in (["GLOB"], ["GLOB_RECURSE"]) and len(words) > 1:
            self.variables[words[1]] = ";".join(self._glob(words))
        elif name == "add_subdirectory" and words:
            below = words[1] if len(words) > 1 and words[1] != "EXCLUDE_FROM_ALL" else words[0]
            folder, binary = (self.folder / words[0]).resolve(), self.binary / below
            if folder.is_relative_to(self.project.root) and (folder / FILE).is_file() and folder != self.folder:
                _folder(self.project, folder, binary, dict(self.variables), list(self.includes))
        elif name == "include_directories":
            self.includes += self._paths(words, {"BEFORE", "AFTER", "SYSTEM"})
        else:
            self._about_target(name, words)

    def _about_target(self, name: str, words: list[str]) -> None:
        if not words:
            return
        if name in {"add_executable", "cuda_add_executable", "add_library", "cuda_add_library"}:
            if {"ALIAS", "IMPORTED"} & set(words):
                return
            sources = [each for each in self._paths(words[1:], set()) if each.suffix in SOURCES]
            place = self.variables.get("CMAKE_RUNTIME_OUTPUT_DIRECTORY") or str(self.binary)
            place = str(self.binary / place)
            program = name.endswith("executable")
            self.project.targets[words[0]] = _Target(sources, list(self.includes), program=program, place=place)
            return
        target = self.project.targets.get(words[0])
        if target is None and name != "set_target_properties":
            return
        scopes = {"PRIVATE", "PUBLIC", "INTERFACE", "SYSTEM", "BEFORE", "AFTER"}
        if target is not None and name == "target_sources":
            target.sources += [each for each in self._paths(words[1:], scopes) if each.suffix in SOURCES]
        elif target is not None and name == "target_include_directories":
            target.folders += self._paths(words[1:], scopes)
        elif target is not None and name == "target_link_libraries":
            target.libraries += [each for each in words[1:] if each not in scopes]
        elif name in {"set_target_properties", "set_property"} and "PROPERTIES" in words:
            self._properties(words)
        elif target is not None and name == "target_compile_features":
            return

    def _properties(self, words: list[str]) -> None:
        at = words.index("PROPERTIES")
        given = dict(zip(words[at + 1 :: 2], words[at + 2 :: 2], strict=False))
        self.project.architectures |= "CUDA_ARCHITECTURES" in given
        for name in words[:at]:
            target = self.project.targets.get(name)
            if target is not None:
                target.output = given.get("OUTPUT_NAME", target.output)
                place = given.get("RUNTIME_OUTPUT_DIRECTORY")
                target.place = str(self.binary / place) if place else target.place

    def _paths(self, words: Sequence[str], skipped: set[str]) -> list[Path]:
        return [self.folder / each for each in words if each not in skipped and "${" not in each and "$<" not in each]

    def _glob(self, words: list[str]) -> list[str]:
        patterns = [each for each in words[2:] if each != "CONFIGURE_DEPENDS"]
        relative: str | None = None
        if patterns[:1] == ["RELATIVE"] and len(patterns) > 1:
            relative, patterns = patterns[1], patterns[2:]
        found: list[str] = []
        for pattern in patterns:
            path = Path(os.path.normpath(self.folder / pattern))
            if not path.is_relative_to(self.project.root) or "${" in pattern:
                continue
            base = path.parent
            matched = _below(base, path.name) if words[0] == "GLOB_RECURSE" else base.glob(path.name)
            for each in matched:
                found.append(os.path.relpath(each, relative) if relative else str(each))
                if len(found) >= MOST_FILES:
                    return sorted(found)
        return sorted(found)


def _below(base: Path, pattern: str) -> Iterator[Path]:
    looked = 0
    for top, folders, names in os.walk(base):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for name in names:
            looked += 1
            if looked > MOST_LOOKED:
                return
            if fnmatch.fnmatchcase(name, pattern):
                yield Path(top, name)


def _end(commands: Sequence[Command], at: int, name: str) -> int:
    depth = 0
    for number in range(at, len(commands)):
        depth += (commands[number][0] == name) - (commands[number][0] == _CLOSING[name])
        if depth == 0:
            return number
    return len(commands)


def _commands(text: str) -> Iterator[Command]:
    name, depth, arguments = "", 0, list[tuple[str, bool]]()
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth == 0 and name:
                yield name.lower(), arguments
                name, arguments = "", []
            depth = max(depth, 0)
        elif depth and kind in {"word", "quoted", "bracket"}:
            inner = value if kind == "word" else match.group(kind)
            arguments.append((re.sub(r"\\(.)", r"\1", inner) if kind != "bracket" else inner, kind != "word"))
        elif kind == "word":
            name = value
