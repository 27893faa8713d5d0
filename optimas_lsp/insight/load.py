"""One call from a report on disk to its analysis: open (or distil), name the causes, analyse."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path

from optimas_lsp.config import Settings
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.locate import Resolve
from optimas_lsp.profile.limits import Limits, Progress
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.store import open_profile

ENRICH = "optimas_lsp.sass.enrich:enrich"
"""What the reader's worker process runs on a fresh profile: it reads the machine code and names the causes."""


def load_analysis(
    report: Path,
    settings: Settings,
    *,
    resolve: Resolve | None = None,
    keep_all: bool = False,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    cache_dir: Path | None = None,
) -> tuple[Profile, Analysis]:
    """The profile in ``report`` and what it means under ``settings``.

    Reading happens in worker processes and its result is cached by content. Raises ReportError or WorkerError with
    the sentence for the user; see :func:`optimas_lsp.insight.analysis.analyze` for ``resolve`` and ``keep_all``.
    """
    profile = open_profile(
        report,
        limits=Limits.of(settings.profiles),
        enrich=enrichment(),
        progress=progress,
        cancel=cancel,
        cache_dir=cache_dir,
    )
    return profile, analyze(profile, settings, report_path=report, resolve=resolve, keep_all=keep_all)


def enrichment() -> str | None:
    """The import path of the step that names causes, or None where the package has none."""
    return ENRICH if find_spec(ENRICH.partition(":")[0]) is not None else None
