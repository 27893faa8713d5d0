"""Attempts to fill a corpus with: small, each different where a test says so."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from optimas_lsp.corpus.model import Author, Device, Effect, Entry, Finding, Origin, Step, Timing
from optimas_lsp.rewrite.guard.tokens import lex
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText

H200 = Device(name="NVIDIA H200", compute_capability=(9, 0))


STATEMENTS = (
    "float a = in[i];", "a = a * a + b;", "if (a > 0.f) out[i] = a;", "__syncthreads();", "shared[threadIdx.x] = a;",
    "for (int k = 0; k < n; ++k) sum += in[k];", "atomicAdd(&bins[j], 1);", "int lane = threadIdx.x & 31;",
    "sum += __shfl_down_sync(~0u, sum, 16);", "out[i] = shared[255 - threadIdx.x];", "while (lo < hi) { lo += 1; }",
    "double d = (double)a / 3.0;", "if (lane == 0) partial[blockIdx.x] = sum;", "int j = i % width, r = i / width;",
    "const float4 v = ((const float4*)in)[i];", "a = fmaf(a, v.x, v.y);", "do { i += stride; } while (i < n);",
    "switch (j) { case 0: return; default: break; }", "b = __ldg(&in[j * width + r]);", "tile[r][j] = b;",
    "a = tile[j][r] - tile[r][j];", "out[j * height + r] = a;", "unsigned m = __ballot_sync(~0u, a > b);",
    "n += __popc(m);", "a = rsqrtf(a + 1e-6f);", "x[i].y = x[i].z << 2;", "goto done; done: return;",
    "a = b ? sinf(a) : cosf(b);", "bool odd = (i & 1) != 0;", "size_t at = (size_t)i * pitch;",
)  # fmt: skip


def kernel_text(family: int, variant: int = 0) -> str:
    """Code of a made-up family, which has nothing to do with others; variants differ in names, numbers and one line."""
    chance = random.Random(family)
    lines = chance.sample(STATEMENTS, 12)
    chance = random.Random(1000 * family + variant)
    if variant:
        lines.insert(chance.randrange(12), chance.choice(STATEMENTS))
    text = "\n    ".join(lines)
    for name in ("sum", "lane", "shared", "tile", "in", "out"):
        text = re.sub(rf"\b{name}\b", f"{name}{variant or ''}", text)
    return f"__global__ void kernel{family}_{variant}(const float* in, float* out, int n) {{\n    {text}\n}}"


def real_kernels(samples: Path) -> dict[str, str]:
    """The definition of every kernel in the samples' sources, by file and name."""
    found: dict[str, str] = {}
    for path in sorted(samples.rglob("*.cu")):
        syntax = parse(SourceText.of(path.read_text("utf-8")), "cuda")
        for kernel in syntax.kernels:
            text = syntax.code.data[kernel.extent.start : kernel.extent.end].decode()
            found[f"{path.parent.name}/{kernel.shown_name}"] = text
    return found


def rewritten(code: str, seed: int) -> str:
    """The code as somebody else would have written it: other names and numbers, two lines dropped, one moved."""
    chance = random.Random(seed)
    lines = code.split("\n")
    for _ in range(2):
        if len(lines) > 6:
            del lines[chance.randrange(2, len(lines) - 1)]
    if len(lines) > 6:
        lines.insert(chance.randrange(2, len(lines) - 1), lines.pop(chance.randrange(2, len(lines) - 1)))
    parts: list[str] = []
    at = 0
    code = "\n".join(lines)
    for token in lex(code):
        text = token.text
        if token.kind == "word" and not text.startswith(("__", "atomic", "thread", "block", "grid")) and len(text) > 1:
            text = (
                f"{text}_{seed % 7}" if text not in {"if", "for", "int", "float", "void", "const", "size_t"} else text
            )
        elif token.kind == "number" and text.isdigit():
            text = str(int(text) + seed % 3)
        parts += [code[at : token.start], text]
        at = token.end
    return "".join([*parts, code[at:]])


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
