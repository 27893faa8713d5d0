"""Builds candidates for a command: in a snapshot of the folder, under limits, ended with everything they started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.config import FILE_NAME
from optimas_lsp.prove.bundle import snapshot
from optimas_lsp.prove.runner.process import Finished, Limits, clean_environment, end_descendants, run
from optimas_lsp.prove.target import parse_target
from optimas_lsp.rewrite.compile import Command, Compiled, commands_for, compile_candidate


@dataclass
class ScratchBuilder:
    """Runs the program's own build commands in a copy; see ``rewrite.optimize.Builder``."""

    folder: Path
    planned: tuple[Command, ...]
    seconds: float
    _cancelled: bool = False

    @classmethod
    def of(cls, folder: Path, source: Path, capability: int | None) -> ScratchBuilder:
        """The commands of ``optimas.toml``, ``compile_commands.json`` or a plain nvcc line; raises ConfigError."""
        from optimas_lsp.config import load_toml

        toml = folder / FILE_NAME
        table = load_toml(toml).get("target") if toml.is_file() else None
        target = None if table is None else parse_target(table, where=str(toml))
        build = () if target is None else target.build
        limit = 600.0 if target is None else target.build_limit_s
        return cls(folder, commands_for(source, folder, build=build, capability=capability), limit)

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What is run, in order."""
        return tuple(each.arguments for each in self.planned)

    @property
    def why(self) -> str:
        """Where the commands come from."""
        return self.planned[0].source if self.planned else ""

    def build(self, files: Mapping[str, bytes]) -> Compiled:
        """Build with ``files`` in their places."""
        return compile_candidate(self.folder, files, self.planned, run=self._run, copy=snapshot)

    def cancel(self) -> None:
        """End what runs now and start nothing more."""
        self._cancelled = True
        end_descendants(os.getpid())

    def _run(self, command: Sequence[str], folder: Path, added: Mapping[str, str], logs: Path, name: str) -> Finished:
        if self._cancelled:
            return Finished(130, 0.0, "it was cancelled", logs / f"{name}.out", logs / f"{name}.err")
        scratch = logs / "home"
        scratch.mkdir(exist_ok=True)
        environment = clean_environment(scratch, dict(added))
        return run(command, folder, environment, Limits(seconds=self.seconds), logs, name)
