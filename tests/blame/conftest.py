"""Enriched profiles and analyses of the samples' reports, read once a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile

SAMPLES = Path(__file__).parents[2] / "samples"


@cache
def _load(report: str) -> tuple[Profile, Analysis]:
    return load_analysis(SAMPLES / report, Settings())


@pytest.fixture(scope="session")
def samples() -> Path:
    return SAMPLES


@pytest.fixture(scope="session")
def load() -> Callable[[str], tuple[Profile, Analysis]]:
    """Profile and analysis of a report, by its path under samples/."""
    return _load
