"""Analyses made by hand: one kernel whose numbers a test chooses."""

from __future__ import annotations

from optimas_lsp.insight.evidence import (
    Analysis,
    Bound,
    Ceiling,
    Conflict,
    CounterImportance,
    CounterScore,
    Evidence,
    Expectation,
    KernelAnalysis,
    LineHeat,
    LineReason,
    Location,
    ReportInfo,
    Roofline,
    RooflineLevel,
    SampleTotals,
)


def place(line: int, file: str = "/src/k.cu") -> Location:
    return Location(file=file, line=line)


def pc(number: int, line: int, rule: str = "long_scoreboard", samples: int = 100, **more: object) -> Evidence:
    """A stall: all its samples are not-issued ones, of 1,000 in the kernel."""
    fields: dict[str, object] = {
        "id": f"PC-{number}",
        "source": "pc",
        "rule": rule,
        "kernel": "k",
        "location": place(line),
        "samples": samples,
        "not_issued": samples,
        "share": samples / 1000,
        "margin": 0.02,
        "level": "act",
        "text": f"{rule} on line {line}",
        "expects": (Expectation(metric=rule, direction="down"),),
    }
    return Evidence.model_validate({**fields, **more})


def heat(line: int, file: str = "/src/k.cu", **reasons: int) -> LineHeat:
    stalled = sum(reasons.values())
    return LineHeat(
        location=place(line, file),
        samples=stalled,
        stalled=stalled,
        not_issued=stalled,
        share=stalled / 1000,
        margin=0.02,
        reasons=tuple(LineReason(reason=name, samples=count, not_issued=count) for name, count in reasons.items()),
    )


def roof(
    verdict: str = "memory", compute: float = 20.0, memory: float = 80.0, speedup: float = 1.25, **more: object
) -> Roofline:
    level = RooflineLevel(bytes=1e9, intensity=1.0, achieved_pct=memory)
    fields: dict[str, object] = {
        "verdict": verdict,
        "precision": "fp32",
        "levels": dict.fromkeys(("dram", "l2", "l1"), level),
        "ceiling": Ceiling(time_ns=1e6 / speedup, speedup=speedup, limited_by="dram", work_speedup=speedup),
        "peaks_from": "report",
        "compute_pct": compute,
        "memory_pct": memory,
        "time_ns": 1e6,
        "text": f"{verdict}-bound",
    }
    return Roofline.model_validate({**fields, **more})


def score(name: str, low: float = 0.6, **more: object) -> CounterScore:
    fields: dict[str, object] = {
        "name": name, "unit": "byte", "group": name.partition("__")[0], "description": "", "score": 0.7, "low": low,
        "high": 0.8, "selected": 0.9,
    }  # fmt: skip
    return CounterScore.model_validate({**fields, **more})


def kernel(*evidence: Evidence, lines: tuple[LineHeat, ...] = (), **more: object) -> KernelAnalysis:
    fields: dict[str, object] = {
        "name": "k(float*)", "mangled": "k", "base_name": "k", "launches": 1, "gpu_time_ns": 1e6, "share": 1.0,
        "hot": True, "grid": (1, 1, 1), "block": (128, 1, 1),
        "samples": SampleTotals(total=1000, stalled=900, not_issued=800, unattributed=0),
        "evidence": evidence, "lines": lines,
    }  # fmt: skip
    return KernelAnalysis.model_validate({**fields, **more})


def analysis(*kernels: KernelAnalysis, path: str = "/reports/r.ncu-rep") -> Analysis:
    report = ReportInfo(path=path, sha256="0" * 64, tool="ncu", tool_version="1", device="GPU")
    return Analysis(report=report, kernels=kernels)


__all__ = ["Bound", "Conflict", "CounterImportance", "analysis", "heat", "kernel", "pc", "place", "roof", "score"]
