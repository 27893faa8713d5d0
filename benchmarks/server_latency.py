"""How fast the server answers while somebody types into a 10,000-line file with 700 hot lines, and what it weighs.

``python benchmarks/server_latency.py`` prints ``name value unit`` lines. Times are round trips seen by a client on the
same machine: the message written, the answer read whole. ``limited`` runs under the default settings (100 diagnostics
a file); ``all`` shows every one of the 700 findings. Limits: hover, code lens and inlay hints p99 at most 5 ms, an edit
to its findings p99 at most 20 ms, under 150 MB resident with a report of 100+ launches open.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from _lsp import Server, keep, percentile, show

from optimas_lsp.profile.model import (
    Code,
    Device,
    Frame,
    Kernel,
    Launch,
    MetricInfo,
    Profile,
    Samples,
    SourceFile,
    Tool,
)

LINES, HOT, KERNELS = 10_000, 700, 2
ROUNDS = 400
SAMPLES = Path(__file__).parents[1] / "samples"
MANY = {"diagnostics": {"maximumPerFile": 1000}, "inlayHints": {"maximumPerFile": 1000}, "lines": {"minimumShare": 0}}
REASONS = ("long_scoreboard", "wait", "short_scoreboard", "selected")

Figures = dict[str, tuple[float, str]]


def source(rng: random.Random) -> list[str]:
    """A long CUDA file with two kernels whose statements differ."""
    lines = [f"    out[{k}] = in[{k}] * {rng.random():.6f}f + shared[{k % 32}];  // 𝛼 {k}" for k in range(LINES)]
    for index in range(KERNELS):
        lines[index * LINES // KERNELS] = f"__global__ void kernel{index}(const float* in, float* out) {{"
    return lines


def profile(lines: list[str], rng: random.Random) -> Profile:
    """A profile whose samples fall on 700 lines of that file, each with three reasons."""
    hot = sorted(rng.sample(range(10, LINES - 10), HOT))
    halves = [[line for line in hot if line * KERNELS // LINES == index] for index in range(KERNELS)]
    kernels: list[Kernel] = []
    for index, mine in enumerate(halves):
        weights = (400, 80, 60, 40)  # one reason dominates each line
        rows = [(k, r, rng.randrange(1, weights[r])) for k in range(len(mine)) for r in range(len(REASONS))]
        kernels.append(
            Kernel(
                mangled=f"_Z7kernel{index}PKfPf",
                name=f"kernel{index}(const float *, float *)",
                base_name=f"kernel{index}",
                code=Code(
                    sha256=f"{index}" * 64,
                    offset=tuple(16 * k for k in range(len(mine))),
                    sass=("LDG.E R0, [R2]",) * len(mine),
                    chain=tuple(range(len(mine))),
                    chains=tuple((Frame(file=0, line=line + 1),) for line in mine),
                ),
                samples=Samples(
                    instruction=tuple(k for k, _, _ in rows),
                    reason=tuple(r for _, r, _ in rows),
                    all=tuple(count for _, _, count in rows),
                    not_issued=tuple(count // 2 for _, _, count in rows),
                ),
            )
        )
    launches = tuple(
        Launch(index=k, kernel=k % KERNELS, grid=(100, 1, 1), block=(128, 1, 1), duration_ns=1e6, counters=(1e6,))
        for k in range(KERNELS)
    )
    return Profile(
        distiller="benchmark",
        report_name="profile.ncu-rep",
        report_sha256="0" * 64,
        report_bytes=1,
        tool=Tool(name="ncu", version="2025.3.1"),
        device=Device(name="benchmark", compute_capability=(9, 0)),
        metrics=(MetricInfo(name="gpu__time_duration.sum", unit="ns"),),
        reasons=REASONS,
        files=(SourceFile(path="/elsewhere/big/big.cu", text="\n".join(lines)),),
        kernels=tuple(kernels),
        launches=launches,
    )


def timed(rounds: int, work: Callable[[int], object]) -> list[float]:
    """Milliseconds of each round."""
    times: list[float] = []
    for index in range(rounds):
        begin = time.perf_counter()
        work(index)
        times.append(1000 * (time.perf_counter() - begin))
    return times


def edit(server: Server, uri: str, version: int, rng: random.Random, line_count: int) -> None:
    """A keystroke, a new line or a small deletion at a random place."""
    line, kind = rng.randrange(line_count - 2), rng.random()
    start = {"line": line, "character": 4}
    end = {"line": line + 1, "character": 0} if kind > 0.95 else start
    text = "x" if kind < 0.7 else "\n" if kind < 0.95 else ""
    change = {"range": {"start": start, "end": end}, "text": text}
    server.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
    )


def talk(name: str, folder: Path, cache: Path, settings: dict[str, Any], client: str) -> Figures:
    """One session: ask for everything, then type."""
    rng = random.Random(5)
    file = folder / "big.cu"
    uri = file.as_uri()
    server = Server([sys.executable, "-m", "optimas_lsp"], env={**os.environ, "OPTIMAS_CACHE_DIR": str(cache)})
    server.configuration = settings
    server.initialize(client, folder)
    server.notify("initialized", {})
    text = file.read_text("utf-8")
    server.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": uri, "languageId": "cuda", "version": 1, "text": text}},
    )
    known = server.settle()
    view = known["views"][uri]
    hot = [line for line, _, _ in view["findings"]]
    document = {"uri": uri}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": LINES, "character": 0}}
    window = {"start": {"line": 5000, "character": 0}, "end": {"line": 5060, "character": 0}}
    pulls = known["diagnostics"] == "pull"

    def hover(_: int) -> object:
        place = {"line": rng.choice(hot) - 1, "character": 5}
        return server.request("textDocument/hover", {"textDocument": document, "position": place})

    def typing(index: int) -> object:
        edit(server, uri, index + 2, rng, LINES)
        if pulls:
            return server.ask("textDocument/diagnostic", {"textDocument": document})
        return server.until("textDocument/publishDiagnostics", parse=False)

    measured = {
        "hover": timed(ROUNDS, hover),
        "code_lens": timed(ROUNDS, lambda _: server.request("textDocument/codeLens", {"textDocument": document})),
        "inlay_hints_window": timed(
            ROUNDS, lambda _: server.request("textDocument/inlayHint", {"textDocument": document, "range": window})
        ),
        "inlay_hints_file": timed(
            ROUNDS // 4, lambda _: server.request("textDocument/inlayHint", {"textDocument": document, "range": whole})
        ),
        "change_to_findings": timed(ROUNDS, typing),
    }
    shown = len(server.request("textDocument/codeLens", {"textDocument": document}))
    assert shown >= KERNELS, f"{shown} lenses"
    resident = psutil.Process(server.process.pid).memory_info().rss / 1e6
    server.close()
    figures: Figures = {f"server.{name}.findings": (float(len(hot)), "findings")}
    for key, times in measured.items():
        figures[f"server.{name}.{key}_p50"] = (percentile(times, 0.5), "ms")
        figures[f"server.{name}.{key}_p99"] = (percentile(times, 0.99), "ms")
    figures[f"server.{name}.resident"] = (resident, "MB")
    return figures


def weight(cache: Path, home: Path) -> Figures:
    """Resident memory with a report of 100+ launches open beside its source."""
    folder = home / "sweep"
    shutil.copytree(SAMPLES / "sweep", folder)
    server = Server([sys.executable, "-m", "optimas_lsp"], env={**os.environ, "OPTIMAS_CACHE_DIR": str(cache)})
    server.initialize("neovim_0.11.4", folder)
    server.notify("initialized", {})
    file = folder / "sweep.cu"
    item = {"uri": file.as_uri(), "languageId": "cuda", "version": 1, "text": file.read_text("utf-8")}
    server.notify("textDocument/didOpen", {"textDocument": item})
    known = server.settle()
    launches = sum(each["launches"] for each in known["reports"])
    resident = psutil.Process(server.process.pid).memory_info().rss / 1e6
    server.close()
    return {"server.sweep.launches": (float(launches), "launches"), "server.sweep.resident": (resident, "MB")}


def main() -> None:
    """Measure both ways of showing findings, with both ways of getting diagnostics."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        cache = home / "cache"
        folder = home / "big"
        folder.mkdir()
        lines = source(rng)
        (folder / "big.cu").write_text("\n".join(lines), "utf-8")
        (folder / "profile.optimas.json").write_text(profile(lines, rng).model_dump_json(by_alias=True), "utf-8")
        figures = show(talk("push_limited", folder, cache, {"lines": {"minimumShare": 0}}, "neovim_0.11.4"))
        figures |= show(talk("push_all", folder, cache, MANY, "neovim_0.11.4"))
        figures |= show(talk("pull_all", folder, cache, MANY, "vscode_1.100.3_languageclient_11"))
        figures |= show(weight(cache, home))
    keep("server_latency", figures)


if __name__ == "__main__":
    main()
