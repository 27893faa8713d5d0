"""Which transformations of the catalogue apply to the kernels of a document, and why the others do not.

Looked for in a process of its own (``python -P -m optimas_lsp.server.possible``) a moment after a document was opened
or edited; features only read what was found. Input: one JSON object with ``path``, ``text``, ``allow``, ``capability``
(ten times the GPU's version) and ``kernels`` (``insight.evidence.KernelAnalysis`` with places of today); output: one
JSON object, by mangled name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Transformation:
    """One transformation for one function: its name, whether it applies, why or why not, for which findings."""

    name: str
    title: str
    function: str
    applies: bool
    reason: str
    line: int
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Possible:
    """What was found for one version of a document, by mangled name."""

    version: int
    kernels: Mapping[str, tuple[Transformation, ...]]

    @staticmethod
    def of_json(version: int, found: bytes) -> Possible:
        """From what the process wrote; raises ValueError."""
        rows: dict[str, list[dict[str, Any]]] = json.loads(found)
        return Possible(
            version,
            {mangled: tuple(map(_transformation, each)) for mangled, each in rows.items()},
        )

    def of(self, mangled: str) -> tuple[Transformation, ...]:
        """Those that apply to a kernel, each once, in the catalogue's order."""
        return tuple({each.name: each for each in self.kernels.get(mangled, ()) if each.applies}.values())


def _transformation(row: dict[str, Any]) -> Transformation:
    evidence: list[str] = row.pop("evidence")
    return Transformation(**row, evidence=tuple(evidence))


def main() -> int:
    """Answer the one request on standard input."""
    from optimas_lsp.insight.evidence import KernelAnalysis
    from optimas_lsp.rewrite.catalogue.explain import explain
    from optimas_lsp.rewrite.catalogue.registry import entry

    asked: dict[str, Any] = json.load(sys.stdin)
    answer: dict[str, list[dict[str, Any]]] = {}
    for plain in asked["kernels"]:
        kernel = KernelAnalysis.model_validate(plain)
        answer[kernel.mangled] = [
            asdict(
                Transformation(
                    name=each.transformation,
                    title=entry(each.transformation).title,
                    function=each.function,
                    applies=each.applies,
                    reason=each.reason,
                    line=each.line,
                    evidence=each.evidence,
                )
            )
            for each in explain(
                asked["text"], Path(asked["path"]), kernel, allow=asked["allow"], capability=asked["capability"]
            )
        ]
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
