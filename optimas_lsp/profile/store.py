"""Opening a report or a distilled profile, and the cache of what was distilled."""

from __future__ import annotations

import threading
from pathlib import Path

from optimas_lsp.errors import ReportError
from optimas_lsp.profile.limits import Limits, Progress
from optimas_lsp.profile.model import Profile


def open_profile(
    path: Path,
    *,
    limits: Limits | None = None,
    enrich: str | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    cache_dir: Path | None = None,
) -> Profile:
    """The profile in ``path``; distilled profiles only so far.

    Raises ReportError when the file cannot be read, WorkerError when a worker died.
    """
    if not path.name.endswith(".optimas.json"):
        raise ReportError("only distilled profiles can be opened yet", where=path)
    return Profile.model_validate_json(path.read_bytes())
