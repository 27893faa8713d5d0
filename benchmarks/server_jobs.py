"""How fast code actions come, and how long the event loop is held while three rewrites run and somebody types.

``python benchmarks/server_jobs.py`` prints ``name value unit`` lines. The file has 10,000 lines with 700 hot ones,
three samples lie beside it. ``code_actions`` are round trips of requests on hot lines (p99 at most 10 ms), no job runs;
``handler`` is the longest turn of the server's event loop while three jobs run, on the wall and on the processor: a
machine with more ready processes than cores stretches the first (at most 20 ms).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _lsp import Server, keep, percentile, show
from server_latency import SAMPLES, edit, profile, source, timed

ROUNDS, SECONDS = 400, 20.0
NAMES = ("adjacent", "lookup", "accuracy")
CLIENT = "vscode_1.100.3_languageclient_11"

TIMED = """
import asyncio.events, atexit, json, os, sys, time
turns, run = [], asyncio.events.Handle._run
def timed(self):
    wall, cpu = time.perf_counter(), time.thread_time()
    run(self)
    turns.append((1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu), time.time()))
asyncio.events.Handle._run = timed
atexit.register(lambda: json.dump(turns, open(os.environ["OPTIMAS_TURNS"], "w")))
from optimas_lsp.__main__ import main
sys.argv[1:] = []
raise SystemExit(main())
"""
"""The server, with every turn of its event loop timed: wall and processor milliseconds, and when it ended."""


def job_states(server: Server) -> list[str]:
    """The states of all jobs."""
    listed = server.request("workspace/executeCommand", {"command": "optimas.jobs"})
    return [each["state"] for each in listed["jobs"]]


def type_while_jobs_run(server: Server, uri: str, others: list[str], rng: random.Random, lines: int) -> tuple[int, int]:
    """Keep three rewrites running for a while and type; gives the rewrites asked for and the edits made."""
    asked = edits = 0
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        running = sum(state in {"queued", "running"} for state in job_states(server))
        for other in others[: max(0, 3 - running)]:
            params = {"command": "optimas.optimizeKernel", "arguments": [other]}
            try:
                server.request("workspace/executeCommand", params)
                asked += 1
            except RuntimeError:  # this kernel's rewrite is still under way
                continue
        for _ in range(20):
            edits += 1
            edit(server, uri, 1000 + edits, rng, lines)
            server.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
            line = rng.randrange(lines)
            server.ask("textDocument/codeAction", actions(uri, line))
    return asked, edits


def actions(uri: str, line: int) -> dict[str, Any]:
    """The parameters of a request for the code actions of a line."""
    at = {"line": line, "character": 0}
    return {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}


def opened(server: Server, file: Path) -> str:
    """Open a file; its URI."""
    item = {"uri": file.as_uri(), "languageId": "cuda", "version": 1, "text": file.read_text("utf-8")}
    server.notify("textDocument/didOpen", {"textDocument": item})
    return file.as_uri()


def main() -> None:
    """Measure both."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        root = home / "root"
        (root / "big").mkdir(parents=True)
        lines = source(rng)
        (root / "big" / "big.cu").write_text("\n".join(lines), "utf-8")
        report = profile(lines, rng).model_dump_json(by_alias=True)
        (root / "big" / "profile.optimas.json").write_text(report, "utf-8")
        for each in NAMES:
            shutil.copytree(SAMPLES / each, root / each)
        turns = home / "turns.json"
        environment = {"OPTIMAS_CACHE_DIR": "cache", "OPTIMAS_STATE_DIR": "state", "OPTIMAS_DATA_DIR": "data"}
        environment = {key: str(home / value) for key, value in environment.items()}
        server = Server([sys.executable, "-c", TIMED], {**os.environ, **environment, "OPTIMAS_TURNS": str(turns)})
        server.configuration = {"jobs": {"build": False, "atOnce": 3}, "lines": {"minimumShare": 0}}
        server.initialize(CLIENT, root)
        server.notify("initialized", {})
        uri = opened(server, root / "big" / "big.cu")
        others = [opened(server, root / each / f"{each}.cu") for each in NAMES]
        known = server.settle()
        while (
            not (known := server.request("workspace/executeCommand", {"command": "optimas.debugInformation"}))[
                "possible"
            ].get(uri)
            or known["lookingAhead"]
        ):
            time.sleep(0.1)
        hot = [line for line, _, _ in known["views"][uri]["findings"]]
        server.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})  # as an editor does on opening
        times = timed(ROUNDS, lambda _: server.ask("textDocument/codeAction", actions(uri, rng.choice(hot) - 1)))
        began = time.time()
        asked, edits = type_while_jobs_run(server, uri, others, rng, len(lines))
        ended = time.time()
        server.close()
        held = [(wall, cpu) for wall, cpu, at in json.loads(turns.read_text()) if began <= at <= ended]
    figures = {
        "server.code_actions_p50": (percentile(times, 0.5), "ms"),
        "server.code_actions_p99": (percentile(times, 0.99), "ms"),
        "server.jobs.rewrites": (float(asked), "rewrites"),
        "server.jobs.edits": (float(edits), "edits"),
        "server.jobs.handler_longest": (max(wall for wall, _ in held), "ms"),
        "server.jobs.handler_longest_processor": (max(cpu for _, cpu in held), "ms"),
        "server.jobs.handler_p99": (percentile([wall for wall, _ in held], 0.99), "ms"),
        "server.jobs.load": (os.getloadavg()[0], "processes"),
    }
    keep("server_jobs", show(figures))


if __name__ == "__main__":
    main()
