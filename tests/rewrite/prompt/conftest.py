"""Prompts of real kernels: sample reports read once, analyses as they were when the expected prompts were written."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.load import enrichment
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.store import open_profile
from optimas_lsp.rewrite.prompt import Subject

sys.path.insert(0, str(Path(__file__).parent))

from prompt_samples import GOLDEN, SAMPLES, absolute


@pytest.fixture(scope="session")
def read(profile_cache: Path) -> Callable[[str], Profile]:
    """The profile of a sample in ``SAMPLES``, with its causes."""

    @functools.cache
    def of(name: str) -> Profile:
        return open_profile(SAMPLES[name].report, enrich=enrichment(), cache_dir=profile_cache)

    return of


@pytest.fixture(scope="session")
def subject(read: Callable[[str], Profile]) -> Callable[[str], Subject]:
    """A sample's kernel with the evidence of today's analysis."""
    return functools.cache(lambda name: SAMPLES[name].subject(read(name)))


@pytest.fixture(scope="session")
def frozen(read: Callable[[str], Profile]) -> Callable[[str], Subject]:
    """A sample's kernel with its evidence as it stands in ``golden/``."""

    def of(name: str) -> Subject:
        stored = json.loads((GOLDEN / f"{name}.analysis.json").read_text("utf-8"), object_hook=absolute)
        return SAMPLES[name].subject(read(name), Analysis.model_validate(stored))

    return of
