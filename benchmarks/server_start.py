"""From spawning the server to its reply to ``initialize``, against a pygls server without any feature, in turns.

``python benchmarks/server_start.py`` prints ``name value unit`` lines; the ratio must stay at 1.3 or below.
"""

from __future__ import annotations

import statistics
import sys
import time

from _lsp import Server, keep, show

ROUNDS = 15
EMPTY = "from pygls.lsp.server import LanguageServer; LanguageServer('empty', '1').start_io()"


def start_seconds(command: list[str]) -> float:
    """Seconds from spawn to the reply."""
    server = Server(command)
    server.initialize("neovim_0.11.4", None)
    seconds = time.perf_counter() - server.started
    server.process.kill()
    server.process.wait()
    return seconds


def main() -> None:
    """Measure in turns, so that both see the same machine."""
    ours: list[float] = []
    empty: list[float] = []
    for round_ in range(ROUNDS + 1):
        one = start_seconds([sys.executable, "-c", EMPTY])
        two = start_seconds([sys.executable, "-m", "optimas_lsp"])
        if round_:  # the first pair fills the caches of the file system
            empty.append(one)
            ours.append(two)
    mine, base = statistics.median(ours), statistics.median(empty)
    figures = {
        "server_start.optimas": (1000 * mine, "ms"),
        "server_start.empty_pygls": (1000 * base, "ms"),
        "server_start.ratio": (mine / base, "x"),
    }
    keep("server_start", show(figures))


if __name__ == "__main__":
    main()
