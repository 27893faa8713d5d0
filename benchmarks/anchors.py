"""How long anchors take: ``python -m benchmarks.anchors [--json FILE]`` prints ``name value unit`` lines.

The file is 10,000 (and 20,000) lines of kernel-like statements with 700 hot lines; edits are single keystrokes, new
lines and small deletions at random places, each followed by looking up every hot line.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

from optimas_lsp.source.anchors import Anchors, Measured, align
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


def typing(anchors: Anchors, rng: random.Random) -> tuple[list[float], list[float]]:
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
        begin = time.perf_counter()
        _, splice = anchors.text.apply(change)
        anchors = anchors.apply(splice)
        middle = time.perf_counter()
        for place in hot:
            anchors.today(place)
        lookups.append(time.perf_counter() - middle)
        edits.append(middle - begin)
    return edits, lookups


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure() -> dict[str, tuple[float, str]]:
    """Every figure by name, in milliseconds."""
    results: dict[str, tuple[float, str]] = {}
    for size in (10_000, 20_000):
        rng = random.Random(size)
        lines = kernel_like(size, rng)
        text = SourceText.of("\n".join(lines))
        anchors = align(Measured.of_text(text.text), text)
        edits, lookups = typing(anchors, rng)
        for share in (0.5, 0.99):
            results[f"anchors_edit_{size}_lines_p{share * 100:.0f}"] = percentile(edits, share) * 1e3, "ms"
        results[f"anchors_lookup_{HOT}_hot_of_{size}_lines_p99"] = percentile(lookups, 0.99) * 1e3, "ms"
        edited = [line for line in lines if rng.random() > 0.02]
        shuffled = rng.sample(lines, len(lines))
        binary = [rng.choice("ab") for _ in range(size)]
        cases = {
            "same": (lines, lines),
            "edited": (lines, edited),
            "shuffled": (lines, shuffled),
            "two_symbols": (binary, [line for line in binary if rng.random() > 0.02]),
        }
        for name, (old, new) in cases.items():
            measured, now = Measured.of_text("\n".join(old)), SourceText.of("\n".join(new))
            times: list[float] = []
            for _ in range(5):
                begin = time.perf_counter()
                align(measured, now)
                times.append(time.perf_counter() - begin)
            results[f"align_{size}_lines_{name}"] = sorted(times)[2] * 1e3, "ms"
    return results


def main() -> None:
    """Print every figure, and write them as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    results = measure()
    for name, (value, unit) in results.items():
        print(f"{name} {value:.3f} {unit}")
    if options.json is not None:
        content = {name: {"value": value, "unit": unit} for name, (value, unit) in results.items()}
        options.json.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
