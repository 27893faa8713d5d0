"""A corpus in a folder of its own, and a real rewrite whose attempts it keeps."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from optimas_lsp.corpus import Corpus
from optimas_lsp.course import Course, Request
from optimas_lsp.rewrite.outcome import Rewriting

sys.path.insert(0, str(Path(__file__).parent))

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus and the index of one test alone."""
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))


@pytest.fixture
def corpus() -> Corpus:
    """The user's corpus, which is empty."""
    return Corpus.of_user()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of ``samples/adjacent`` with its report."""
    folder = tmp_path_factory.mktemp("programs") / "adjacent"
    folder.mkdir()
    for name in ("adjacent.cu", "optimas.toml", "profile.ncu-repz"):
        shutil.copy(SAMPLES / "adjacent" / name, folder)
    return folder


@pytest.fixture(scope="session")
def rewriting(tmp_path_factory: pytest.TempPathFactory, profile_cache: Path, program: Path) -> Rewriting:
    """A rewrite of that program from the catalogue, judged and neither built nor proven."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTIMAS_DATA_DIR", str(tmp_path_factory.mktemp("unused")))
        patch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
        request = Request(source=program / "adjacent.cu", profile=program / "profile.ncu-repz", build=False)
        return asyncio.run(Course.of(request).run())
