"""The HTML page of a report, made by a process of its own: the server keeps no profile in memory."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from optimas_lsp.errors import WorkerError
from optimas_lsp.server import rule_pages
from optimas_lsp.server.jobs import environment

SECONDS = 120.0
"""A page that takes longer is given up; from a cached profile it takes about a second."""


def make(report: Path, source: Path | None) -> Path:
    """Write the page of ``report`` into the user's cache folder and return its path; blocks until it is there.

    ``source`` is a file whose folder holds the sources. Raises WorkerError with what the process said.
    """
    folder = rule_pages.folder() / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{report.stem}-{sha256(str(report).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}.html"
    line = [sys.executable, "-P", "-c", "from optimas_lsp.cli import main; main()", "analyze", str(report)]
    line += ["--format", "html", "--output", str(page)]
    if source is not None and source.parent.is_dir():
        line += ["--source", str(source.parent)]
    try:
        done = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            env=environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WorkerError(f"the page took more than {SECONDS:.0f} s", where=report, remedy="try again") from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise WorkerError(f"the page could not be made ({said})", where=report, remedy="reload the reports")
    return page
