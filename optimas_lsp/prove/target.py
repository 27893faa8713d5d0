"""How to build and run a program: the ``[target]`` table of ``optimas.toml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, ValidationError

from optimas_lsp.config import load_toml
from optimas_lsp.errors import ConfigError
from optimas_lsp.profile.model import Frozen


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


def _inside(text: str) -> str:
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("must be a path inside the program's folder")
    return text


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
    outputs: tuple[Annotated[str, AfterValidator(_inside)], ...] = ("stdout",)
    ignore: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()
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
        words = "; ".join(f"'target.{'.'.join(str(p) for p in item['loc'])}': {item['msg']}" for item in error.errors())
        raise ConfigError(words, where=where, remedy="see docs/proof.md for every key of [target]") from None
    if not target.inputs:
        raise ConfigError("[target.inputs] names no command", where=where, remedy='add default = ["build/program"]')
    for key in ("time_input", "sanitize_input"):
        name = cast("str | None", getattr(target, key))
        if name is not None and name not in target.inputs:
            raise ConfigError(
                f"'target.{key}' names the input '{name}', which [target.inputs] does not have", where=where
            )
    return target
