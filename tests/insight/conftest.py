"""Real profiles for claims about insight: every committed sample, read once a session."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.insight.load import enrichment
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.store import open_profile

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="session")
def sample(profile_cache: Path) -> Callable[[str], Profile]:
    """The profile of a report under ``samples/``, with its causes, e.g. ``sample("sweep/profile.ncu-repz")``."""

    @functools.cache
    def read(name: str) -> Profile:
        pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
        return open_profile(SAMPLES / name, enrich=enrichment(), cache_dir=profile_cache)

    return read
