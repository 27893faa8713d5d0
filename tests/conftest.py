"""One folder of distilled profiles a test session: a report is read once, whichever tests ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def profile_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pass it as ``cache_dir``, or to a process as ``OPTIMAS_CACHE_DIR``; never the user's own cache."""
    return tmp_path_factory.mktemp("profiles")
