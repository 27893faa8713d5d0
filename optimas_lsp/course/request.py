"""What one rewrite is asked for, as plain data that can cross the border of a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from optimas_lsp.profile.model import Frozen


class Request(Frozen):
    """One kernel of one report, to be rewritten in one file. Paths are absolute.

    How (backend, executor, limits) stands in the settings: those of the folder's ``optimas.toml`` or, where
    ``settings`` is given, exactly these.
    """

    source: Path = Field(description="the file to change: with the kernel, or a header it uses")
    profile: Path = Field(description="the report: .ncu-rep, .ncu-repz or .optimas.json[.zst]")
    folder: Path | None = Field(default=None, description="the program's folder; None: the nearest with optimas.toml")
    kernel: str = Field(default="", description="regular expression over the kernel's names; empty: the costliest")
    settings: dict[str, Any] | None = Field(default=None, description="config.Settings as plain data")
    evidence: str = Field(default="all", description="the subset: pc, rl, ia with commas, or all")
    finding: str = Field(default="", description="only this piece of evidence, beside what is about the whole kernel")
    transformation: str = Field(default="", description="only this one of the catalogue's transformations")
    past: Literal["use", "others", "ignore"] = Field(
        default="use", description="past attempts: all, none on the same kernel or its like (for studies), or none"
    )
    input: str = Field(default="", description="of [target.inputs], the one that is timed; empty: the program's own")
    build: bool = True
    prove: bool = True
