"""Which reports are to be measured: what `plans.toml` says."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plan:
    """One report to measure, as `plans.toml` describes it."""

    folder: str
    file: str
    kernels: str
    options: tuple[str, ...]
    launches: tuple[int, ...]
    skip: int
    input: tuple[str, ...]
    lineinfo: bool
    import_source: bool
    limit_bytes: int

    @property
    def measured(self) -> str:
        """The file that ncu writes: it knows no compressed form."""
        return self.file.replace(".ncu-repz", ".ncu-rep")


def read_plans(path: Path) -> list[Plan]:
    """Return the plans of `path` in their order."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    plans: list[Plan] = []
    rows = [row | {"folder": folder} for row in data["report"] for folder in row["folders"]]
    for row in rows:
        if "set" in row:
            options = ["--set", row["set"]]
        else:
            names = data["sections"][row["sections"]]
            options = [part for name in names for part in ("--section", name)]
        options += row.get("options", [])
        plans.append(
            Plan(
                folder=row["folder"],
                file=row["file"],
                kernels=row["kernels"],
                options=tuple(options),
                launches=tuple(row["launches"]),
                skip=row.get("skip", 0),
                input=tuple(row.get("input", ())),
                lineinfo=row.get("lineinfo", True),
                import_source=row.get("import_source", True),
                limit_bytes=row.get("limit_kb", 500) * 1000,
            )
        )
    return plans
