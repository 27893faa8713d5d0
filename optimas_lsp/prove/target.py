"""How to build and run a program: the ``[target]`` table of ``optimas.toml``."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, ValidationError

from optimas_lsp.config import load_toml
from optimas_lsp.errors import ConfigError
from optimas_lsp.profile.model import Frozen


def regular_expression(text: str) -> str:
    """``text``, once it is one; raises ValueError with what is wrong."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


def _ignored(text: str) -> str:
    pattern = re.compile(regular_expression(text).encode())
    if all(pattern.search(line) for line in _ANY_LINES):
        raise ValueError("it matches every line, so nothing would be compared")
    return text


_ANY_LINES = (*(bytes([code]) for code in range(33, 127)), b"sum: 42", "Größe".encode())
"""Lines with nothing in common: what matches all of them matches whatever a program prints."""


def _inside(text: str) -> str:
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("must be a path inside the program's folder")
    return text


def _output(text: str) -> str:
    parts = Path(_inside(text)).parts
    if not parts or any("**" in part and part != "**" for part in parts):
        raise ValueError("must be a pattern of file names; ** stands for folders, alone between slashes")
    if parts[-1] == "**" or set(parts) <= {"*", "**"}:
        raise ValueError("would take every file of the program for an output: say which ones it writes")
    return text


def fits(name: str, pattern: str) -> bool:
    """Whether the relative path ``name`` matches a glob pattern of ``outputs``."""
    return _fits(Path(name).parts, Path(pattern).parts)


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


Command = Annotated[tuple[str, ...], Field(min_length=1)]
REPORTS = ("*.ncu-rep", "*.ncu-repz", "*.optimas.json", "*.optimas.json.zst")
"""Glob patterns of profile reports: they lie beside a program and are no part of it."""


class Tolerance(Frozen):
    """How far numbers may differ where two runs of the original already differ. Never used otherwise."""

    relative: float = Field(default=0.0, ge=0)
    absolute: float = Field(default=0.0, ge=0)


class Target(Frozen):
    """How to build and run one program, and what of its output counts.

    Commands are argument lists, run in the folder of ``optimas.toml``. ``inputs`` maps a name to the command that
    runs the program on it. ``outputs`` are ``"stdout"`` and glob patterns of files the program writes. ``ignore`` are
    regular expressions of output lines that may differ (times). Limits are seconds. ``exclude`` are glob patterns of
    files that are no part of the program: one without a slash is held against names, else against the whole path.
    """

    build: tuple[Command, ...] = ()
    inputs: dict[str, Command]
    outputs: tuple[Annotated[str, AfterValidator(_output)], ...] = ("stdout",)
    ignore: tuple[Annotated[str, AfterValidator(_ignored)], ...] = ()
    binary: Annotated[str, AfterValidator(_inside)] | None = None
    time_limit_s: float = Field(default=60.0, gt=0)
    build_limit_s: float = Field(default=600.0, gt=0)
    time_input: str | None = None
    sanitize_input: str | None = None
    tolerance: Tolerance | None = None
    exclude: tuple[Annotated[str, AfterValidator(_inside)], ...] = REPORTS
    kernels: tuple[str, ...] = ()


def read_target(toml: Path) -> Target:
    """The ``[target]`` of an ``optimas.toml``; raises ConfigError that names the file, the key and what is wrong."""
    table = load_toml(toml).get("target")
    if table is None:
        raise ConfigError(
            "there is no [target] table", where=toml, remedy="add [target] with build and inputs, see docs/proof.md"
        )
    return parse_target(table, where=str(toml))


def parse_target(table: object, *, where: str) -> Target:
    """A Target from plain data; raises ConfigError."""
    if not isinstance(table, dict):
        raise ConfigError("[target] must be a table", where=where)
    try:
        target = Target.model_validate(cast("dict[str, Any]", table))
    except ValidationError as error:
        words, remedies = list[str](), dict[str, None]()
        for item in error.errors():
            key = str(item["loc"][0])
            words.append(f"'target.{'.'.join(str(p) for p in item['loc'])}': {_said(item['type'], item['msg'])}")
            remedies.setdefault(_remedy(key))
        remedy = "; ".join([*remedies, "see docs/proof.md for every key of [target]"])
        raise ConfigError("; ".join(words), where=where, remedy=remedy) from None
    if not target.inputs:
        raise ConfigError("[target.inputs] names no command", where=where, remedy='add default = ["build/program"]')
    taken = next((each for each in target.outputs if target.binary and fits(target.binary, each)), None)
    if taken is not None:
        raise ConfigError(
            f"'target.outputs' names the program itself: {taken} matches {target.binary}",
            where=where,
            remedy="outputs are removed before each run: name only what the program writes",
        )
    for key in ("time_input", "sanitize_input"):
        name = cast("str | None", getattr(target, key))
        if name is not None and name not in target.inputs:
            raise ConfigError(
                f"'target.{key}' names the input '{name}', which [target.inputs] does not have", where=where
            )
    return target


_EXPECTED = {
    "build": 'a list of commands, each a list of words: [["make", "program"]]',
    "inputs": 'a table of names and commands: default = ["./program", "--size", "10"]',
    "outputs": '"stdout" and patterns of files: ["stdout", "results/*.bin"]',
    "ignore": 'a list of regular expressions: ["^time"]',
    "exclude": 'a list of patterns of files: ["*.ncu-rep", "notes/*"]',
    "binary": 'the path of the built program: "build/program"',
    "time_limit_s": "a number of seconds above 0",
    "build_limit_s": "a number of seconds above 0",
    "time_input": "the name of an input",
    "sanitize_input": "the name of an input",
    "tolerance": "a table: { relative = 1e-6, absolute = 0.0 }",
    "kernels": 'a list of names: ["my_kernel"]',
}


def _said(kind: str, message: str) -> str:
    return "there is no such key" if kind == "extra_forbidden" else message


def _remedy(key: str) -> str:
    if key in _EXPECTED:
        return f"target.{key} is {_EXPECTED[key]}"
    near = difflib.get_close_matches(key, _EXPECTED, n=1)
    return f"did you mean target.{near[0]}?" if near else f"remove target.{key}"
