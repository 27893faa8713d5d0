"""Attempts to fill a corpus with: small, each different where a test says so."""

from __future__ import annotations

from typing import Any

from optimas_lsp.corpus.model import Author, Device, Effect, Entry, Finding, Origin, Step, Timing

H200 = Device(name="NVIDIA H200", compute_capability=(9, 0))


def attempt(number: int = 1, ending: str = "refuted", **more: Any) -> Entry:
    """An attempt that differs from others by ``number``; ``transformation`` and ``rule`` name its one step."""
    transformation, rule = more.pop("transformation", "unroll-loop"), more.pop("rule", "long_scoreboard")
    speedup = more.pop("speedup", 1.5 if ending == "proven" else None)
    timing = None
    if speedup is not None:
        effect = Effect(before_ns=3e5, after_ns=3e5 / speedup, speedup=speedup, low=speedup * 0.99, high=speedup * 1.01)
        timing = Timing(input="default", pairs=5, clock="cupti", kernel=effect)
    given: dict[str, Any] = {
        "ending": ending,
        "sentence": "the kernel is not faster" if ending == "refuted" else "",
        "kernel": "kernel(float *, int)",
        "mangled": "_Z6kernelPfi",
        "base_name": "kernel",
        "file": "kernel.cu",
        "date": "2026-12-01T10:00:00+00:00",
        "code": f"__global__ void kernel(float* a, int n) {{ a[threadIdx.x] += {number}; }}",
        "patch": f"--- a/kernel.cu\n+++ b/kernel.cu\n@@ -1 +1 @@\n-a += {number};\n+a -= {number};\n",
        "findings": (Finding(id="PC-1", source="pc", rule=rule, share=0.8, samples=1000),),
        "steps": (Step(function="kernel", lines=(1, 1), transformation=transformation, evidence=("PC-1",)),),
        "timing": timing,
        "number": number,
        "device": H200,
        "author": Author(backend="catalogue", model="catalogue"),
        "origin": Origin(project="test", licence="Apache-2.0"),
    }
    return Entry.model_validate({**given, **more}).keyed()
