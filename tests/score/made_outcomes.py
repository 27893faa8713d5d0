"""A small kernel whose samples, findings and answers are known by heart, as the outcome of a rewrite."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from optimas_lsp.insight.changes import Change as Moved
from optimas_lsp.insight.changes import Comparison, Consistency, EvidenceChange, KernelComparison
from optimas_lsp.insight.evidence import (
    Cause,
    Evidence,
    Expectation,
    KernelAnalysis,
    LineHeat,
    LineReason,
    Location,
    ReportInfo,
    SampleTotals,
)
from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt import Prompt
from optimas_lsp.rewrite.proposal import Change, FunctionText, Idea, Proposal

FILE = "/ws/k.cu"
SOURCE = """\
__global__ void k(const float* a, float* b, int n)
{
    int i = threadIdx.x;
    float x = 0;
    for (int j = 0; j < n; ++j) {
        float v = a[i * n
                    + j];
        x += v;
    }
    b[i] = x;
}
"""
OLD = "        float v = a[i * n\n                    + j];\n"
LOADED = "        float v = __ldg(&a[i * n + j]);\n"
"""Lines 6 and 7, one statement, and what may take their place."""

SAMPLES = {3: 45, 4: 5, 6: 100, 7: 50, 8: 600, 10: 200}
"""PC samples by line, 1,000 in all. Line 4 is cold. Line 8 waits for the load of line 6."""


def at(line: int, file: str = FILE) -> Location:
    return Location(file=file, line=line, path=file)


def pc(number: int, line: int, samples: int, rule: str = "long_scoreboard", **more: Any) -> Evidence:
    fields: dict[str, Any] = {
        "id": f"PC-{number}", "source": "pc", "rule": rule, "kernel": "k", "location": at(line), "shown": at(line),
        "samples": samples, "not_issued": samples, "share": samples / 1000, "margin": 0.01, "level": "act",
        "text": f"{rule} on line {line}", "expects": (Expectation(metric=rule, direction="down"),),
    }  # fmt: skip
    return Evidence.model_validate({**fields, **more})


LOAD = Cause(file=FILE, line=6, opcode="LDG.E", share=1.0, confidence="certain", path=FILE)
EVIDENCE = (
    pc(1, 8, 600, causes=(LOAD,), confidence="certain"),
    pc(2, 10, 200, rule="lg_throttle"),
    pc(3, 6, 100, rule="wait"),
    Evidence(
        id="BL-1", source="bl", rule="long_scoreboard", kernel="k", location=at(6), shown=at(6), samples=600,
        not_issued=600, share=0.6, margin=0.03, level="act", waits=(at(8),), confidence="certain",
        expects=(Expectation(metric="long_scoreboard", direction="down"),),
    ),
    Evidence(
        id="RL-1", source="rl", rule="latency-bound", kernel="k", location=None, level="hot", text="Latency-bound.",
        expects=(Expectation(metric="time", direction="down"),),
    ),
)  # fmt: skip
GIVEN = tuple(each.id for each in EVIDENCE)


def heat(line: int, samples: int, file: str = FILE, **more: Any) -> LineHeat:
    reasons = (LineReason(reason="long_scoreboard", samples=samples, not_issued=samples),)
    fields: dict[str, Any] = {
        "location": at(line, file), "shown": at(line, file), "samples": samples, "stalled": samples,
        "not_issued": samples, "share": samples / 1000, "margin": 0.01, "reasons": reasons,
    }  # fmt: skip
    return LineHeat.model_validate({**fields, **more})


def kernel(lines: tuple[LineHeat, ...] | None = None, evidence: tuple[Evidence, ...] = EVIDENCE) -> KernelAnalysis:
    found = tuple(heat(line, count) for line, count in SAMPLES.items()) if lines is None else lines
    total = sum(each.samples for each in found)
    return KernelAnalysis(
        name="k(const float*, float*, int)", mangled="k", base_name="k", launches=1, gpu_time_ns=1e6, share=1.0,
        hot=True, grid=(1, 1, 1), block=(128, 1, 1), evidence=evidence, lines=found,
        samples=SampleTotals(total=total, stalled=total, not_issued=total, unattributed=0),
    )  # fmt: skip


def prompt(evidence: tuple[str, ...] = GIVEN, notes: tuple[str, ...] = ()) -> Prompt:
    return Prompt(
        kernel="k", source="k.cu", subset="pc+rl+ia", functions=("k",), evidence=evidence, system="", user="",
        tokens=1, notes=notes,
    )  # fmt: skip


def proposal(
    text: str | None = None, cites: tuple[str, ...] = ("BL-1", "PC-1"), ideas: tuple[tuple[str, ...], ...] = ()
) -> Proposal:
    """``text`` is the whole new file; its kernel is the proposal."""
    new = SOURCE.replace(OLD, LOADED) if text is None else text
    change = Change(
        function="k", original_lines=(6, 7), evidence=cites, transformation="read-only-loads", reason="because"
    )
    return Proposal(
        functions=(FunctionText(function="k", text=new[new.index("__global__") :].rstrip()),),
        changes=(change,),
        not_applied=tuple(Idea(transformation=f"idea {at}", reason="no", evidence=ids) for at, ids in enumerate(ideas)),
    )


def rewriting(
    answer: Proposal | NoProposal | None = None,
    *,
    source: str = SOURCE,
    analysis: KernelAnalysis | None = None,
    stands: bool = True,
    **more: Any,
) -> Rewriting:
    """The outcome of one answer; a proposal that ``stands`` is the candidate."""
    outcome = proposal() if answer is None else answer
    edits: dict[str, Any] = {}
    if isinstance(outcome, Proposal) and outcome.functions and stands:
        made = Candidate.of(source.encode(), outcome, path=FILE)
        edits = {"edits": made.edits, "edited": made.edited.decode()}
    fields: dict[str, Any] = {
        "status": "candidate" if edits else "manual-review", "sentence": "", "source": FILE, "kernel": "k",
        "backend": "openai", "prompt": prompt(), "attempts": (Attempt(number=1, reply=Reply(outcome=outcome)),),
        "analysis": kernel() if analysis is None else analysis, "report_sha256": "0" * 64,
        "base_sha256": hashlib.sha256(source.encode()).hexdigest(), **edits,
    }  # fmt: skip
    return Rewriting.model_validate({**fields, **more})


def on_disk(folder: Path, found: Rewriting, source: str = SOURCE) -> Rewriting:
    """The outcome as if the edited file lay in ``folder``."""
    path = folder / "k.cu"
    path.write_bytes(source.encode())
    return found.model_copy(update={"source": str(path)})


RULES = {
    "PC-1": ("pc", "long_scoreboard", "k.cu:8"),
    "PC-2": ("pc", "lg_throttle", "k.cu:10"),
    "PC-3": ("pc", "wait", "k.cu:6"),
    "BL-1": ("bl", "long_scoreboard", "k.cu:6"),
    "RL-1": ("rl", "latency-bound", None),
}


def row(name: str, before: float | None, after: float | None, noise: float = 5.0, **more: Any) -> EvidenceChange:
    source, rule, place = RULES[name]
    moved = "unknown"
    if before is not None and after is not None:
        moved = "same" if abs(after - before) <= noise else "down" if after < before else "up"
    fields: dict[str, Any] = {
        "id": name, "source": source, "rule": rule, "place": place, "where": "line", "expected": "down",
        "change": Moved(metric=rule, unit="ns", before=before, after=after, noise=noise, moved=moved),
        "consistent": moved == "down" if moved in {"down", "up"} else None,
    }  # fmt: skip
    return EvidenceChange.model_validate({**fields, **more})


def comparison(*rows: EvidenceChange, sha256: str = "0" * 64, mangled: str = "k") -> Comparison:
    report = ReportInfo(path="r", sha256=sha256, tool="ncu", tool_version="1", device="GPU")
    time = Moved(metric="time", unit="ns", before=100.0, after=50.0, noise=2.0, moved="down")
    kernel = KernelComparison(
        name="k", mangled_before=mangled, mangled_after=mangled, matched_by="mangled", launches_before=1,
        launches_after=1, same_work=True, time=time, speedup=2.0, evidence=rows,
        consistency=Consistency(measured=0, moved=0, consistent=0, share=None),
    )  # fmt: skip
    return Comparison(before=report, after=report, kernels=(kernel,))


TIMING = {
    "verdict": "proven",
    "machine": {"gpu": {"name": "NVIDIA H200"}},
    "timing": {
        "kernel_ns": {"baseline": 2000, "candidate": 1000, "speedup": 2.0, "low": 1.9, "high": 2.1},
        "program_s": {"baseline": 1.0, "candidate": 1.0, "speedup": 1.0, "low": 0.9, "high": 1.1},
        "pairs": 5,
        "input": "default",
    },
}


def proven(**details: object) -> Proof:
    return Proof.model_validate({"state": "proven", "sentence": "proven", "details": {**TIMING, **details}})
