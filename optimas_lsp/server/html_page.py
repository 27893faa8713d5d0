"""The HTML page of a report, made by a process of its own: the server keeps no profile in memory."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from optimas_lsp.errors import WorkerError
from optimas_lsp.server import own_process, rule_pages


async def make(report: Path, source: Path | None) -> Path:
    """Write the page of ``report`` into the user's cache folder and return its path.

    ``source`` is a file whose folder holds the sources. Raises WorkerError with what the process said, or when it takes
    too long; from a cached profile a page takes about a second.
    """
    folder = rule_pages.folder() / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{report.stem}-{sha256(str(report).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}.html"
    words = ["analyze", str(report), "--format", "html", "--output", str(page)]
    if source is not None and source.parent.is_dir():
        words += ["--source", str(source.parent)]
    done = await own_process.run(own_process.command_line(*words))
    if done.status != 0:
        said = done.complaint or f"exit status {done.status}"
        raise WorkerError(f"the page could not be made ({said})", where=report, remedy="reload the reports")
    return page
