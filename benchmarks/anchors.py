"""How long anchors and syntax take: ``python benchmarks/anchors.py`` prints ``name value unit`` lines.

The file is 10,000 (and 20,000) lines of kernel-like statements with 700 hot lines; edits are single keystrokes, new
lines and small deletions at random places, each followed by looking up every hot line. ``cpu`` figures count this
thread's processor time and so hold on a busy machine, the others are what a clock on the wall says.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from _lsp import report

from optimas_lsp.source.anchors import Anchors, Measured, align
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import Change, Position, SourceText

HOT = 700
EDITS = 2_000


def kernel_like(size: int, rng: random.Random) -> list[str]:
    """``size`` lines as kernels have them: some unique, some repeated, many braces."""
    repeated = ["}", "{", "", "  __syncthreads();", "    sum += tile[threadIdx.x];", "  if (i < n) {", "#pragma unroll"]
    return [
        rng.choice(repeated) if rng.random() < 0.4 else f"    out[{k}] = in[{k}] * {k}.0f;  // term {k}"
        for k in range(size)
    ]


def typing(anchors: Anchors, rng: random.Random, clock: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Seconds of text plus anchors per edit, and of looking up all hot lines."""
    hot = sorted(rng.sample(range(1, len(anchors.places) + 1), HOT))
    edits: list[float] = []
    lookups: list[float] = []
    for _ in range(EDITS):
        line = rng.randrange(1, anchors.text.line_count)
        kind = rng.random()
        start, end = Position(line, 4), Position(line, 4)
        if kind > 0.9:
            end = Position(line + 1, 0)
        change = Change("x" if kind < 0.6 else "\n" if kind < 0.9 else "", start, end)
        begin = clock()
        _, splice = anchors.text.apply(change)
        anchors = anchors.apply(splice)
        middle = clock()
        for place in hot:
            anchors.today(place)
        lookups.append(clock() - middle)
        edits.append(middle - begin)
    return edits, lookups


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def median_ms(work: Callable[[], object]) -> float:
    """Milliseconds of this thread's processor time, the median of five."""
    times: list[float] = []
    for _ in range(5):
        begin = time.thread_time()
        work()
        times.append(time.thread_time() - begin)
    return sorted(times)[2] * 1e3


def measure() -> dict[str, tuple[float, str]]:
    """Every figure by name, in milliseconds."""
    results: dict[str, tuple[float, str]] = {}
    for size in (10_000, 20_000):
        rng = random.Random(size)
        lines = kernel_like(size, rng)
        text = SourceText.of("\n".join(lines))
        anchors = align(Measured.of_text(text.text), text)
        for name, clock in {"": time.perf_counter, "_cpu": time.thread_time}.items():
            edits, lookups = typing(anchors, rng, clock)
            for share in (0.5, 0.99):
                results[f"edit_{size}_lines_p{share * 100:.0f}{name}"] = percentile(edits, share) * 1e3, "ms"
            results[f"lookup_{HOT}_of_{size}_lines_p99{name}"] = percentile(lookups, 0.99) * 1e3, "ms"
        binary = [rng.choice("ab") for _ in range(size)]
        cases = {
            "same": (lines, lines),
            "edited": (lines, [line for line in lines if rng.random() > 0.02]),
            "shuffled": (lines, rng.sample(lines, len(lines))),
            "two_symbols": (binary, [line for line in binary if rng.random() > 0.02]),
        }
        for name, (old, new) in cases.items():
            measured, now = Measured.of_text("\n".join(old)), SourceText.of("\n".join(new))
            results[f"align_{size}_lines_{name}_cpu"] = median_ms(lambda m=measured, n=now: align(m, n)), "ms"
    return results | syntax_figures()


def syntax_figures() -> dict[str, tuple[float, str]]:
    """Parsing 10,000 lines whole and after a keystroke, and listing their functions."""
    rng = random.Random(1)
    body = "\n".join(kernel_like(10_000, rng)).replace("{", "if (x) {").split("\n")
    heads = [f"__global__ void k{k}(float* out, const float* in, int n)\n{{" for k in range(100)]
    text = SourceText.of("\n".join(f"{head}\n{balanced(body[100 * k : 100 * k + 97])}" for k, head in enumerate(heads)))
    first = parse(text, "cuda")
    after, _ = text.apply(Change("x", Position(5_000, 4), Position(5_000, 4)))
    return {
        "parse_10000_lines_cpu": (median_ms(lambda: parse(text, "cuda")), "ms"),
        "parse_10000_lines_after_a_keystroke_cpu": (median_ms(lambda: parse(after, "cuda", first)), "ms"),
        "functions_100_of_10000_lines_cpu": (median_ms(lambda: parse(after, "cuda", first).functions), "ms"),
    }


def balanced(lines: list[str]) -> str:
    """The lines as a body whose braces match."""
    depth, kept = 1, list[str]()
    for line in lines:
        depth += line.count("{") - line.count("}")
        kept.append(line if depth else "  ;")
        depth = max(depth, 1)
    return "\n".join([*kept, "}" * depth])


def main() -> None:
    """Measure, print, and write JSON."""
    report("anchors", {f"anchors.{name}": value for name, value in measure().items()})


if __name__ == "__main__":
    main()
