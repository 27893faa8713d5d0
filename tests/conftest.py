"""Of a test session: distilled profiles, so that a report is read once, a corpus that is not the user's, a Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.one_node_slurm import cluster


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and no process that a test starts, touches the user's own corpus."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTIMAS_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def profile_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pass it as ``cache_dir``, or to a process as ``OPTIMAS_CACHE_DIR``; never the user's own cache."""
    return tmp_path_factory.mktemp("profiles")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cluster of one node, this machine; skips where Slurm is not installed."""
    with cluster(tmp_path_factory.mktemp("slurm")):
        yield
