"""Kernels of the sample programs, stored analyses of them, and how a careful reader takes a prompt apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.choice import choose
from optimas_lsp.rewrite.prompt import Subject
from optimas_lsp.rewrite.prompt_files import Files
from optimas_lsp.source.paths import PathMapper

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Sample:
    """One kernel of a sample program."""

    folder: Path
    source: Path
    report: Path
    kernel: str

    @classmethod
    def of(cls, source: str, kernel: str) -> Sample:
        path = ROOT / "samples" / source
        [report] = [each for each in path.parent.glob("*.ncu-rep*") if each.name.partition(".")[0] == "profile"]
        return cls(path.parent, path, report, kernel)

    def subject(self, profile: Profile, analysis: Analysis | None = None) -> Subject:
        return choose(
            profile,
            Settings(),
            report=self.report,
            source=self.source,
            files=Files([self.folder]),
            resolve=PathMapper([self.folder]).path_of,
            pattern=self.kernel,
            analysis=analysis,
        )


SAMPLES = {
    "accuracy": Sample.of("accuracy/accuracy.cu", "accuracy_kernel"),
    "stencil": Sample.of("stencil/stencil.cu", "interior::update"),
    "softmax_triton": Sample.of("softmax_triton/softmax_triton.py", "softmax_kernel"),
    "shmem": Sample.of("shmem/shmem.cu", "mix_tiles<float>"),
}


def absolute(table: dict[str, Any]) -> dict[str, Any]:
    if table.get("path", "").startswith("samples/"):
        table["path"] = str(ROOT / table["path"])
    return table


def frozen_form(subject: Subject, report: Analysis) -> str:
    """What ``frozen`` reads: the analysis of one kernel, workspace paths relative to the repository."""

    def relative(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: relative(each) for key, each in value.items()}
        if isinstance(value, list):
            return [relative(each) for each in value]
        return value.replace(f"{ROOT}/", "") if isinstance(value, str) else value

    one = report.model_copy(update={"kernels": (subject.kernel,)})
    return json.dumps(relative(one.model_dump(mode="json", by_alias=True, exclude_defaults=True)), indent=1) + "\n"


def without_advice(text: str) -> str:
    """A prompt's user part without the sentences of knowledge base and catalogue, which change on their own."""
    ours = ("## What usually helps", "## Known transformations")
    return "\n\n".join(part for part in text.split("\n\n") if not part.startswith(ours))


def blocks(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Fence, title and lines of every block of data in a prompt, read as a careful reader would."""
    rows = iter(text.split("\n"))
    for row in rows:
        if row.startswith("<<<DATA-"):
            fence, _, title = row[3:].partition(" ")
            lines: list[str] = []
            for inner in rows:
                if inner == f"{fence}>>>":
                    break
                lines.append(inner)
            yield fence, title, lines


def outside(text: str) -> str:
    """What stands outside of the data, the fences' digest taken out."""
    kept: list[str] = []
    closing = ""
    for row in text.split("\n"):
        if closing:
            closing = "" if row == closing else closing
        elif row.startswith("<<<DATA-"):
            closing = row[3:].partition(" ")[0] + ">>>"
        else:
            kept.append(row)
    return "\n".join(kept)
