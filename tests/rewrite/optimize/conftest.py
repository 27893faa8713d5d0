"""A copy of a sample program whose build is a real command, and keys and records that are not the user's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for _folder in (HERE, HERE.parent / "backends", HERE.parent / "prompt"):
    sys.path.insert(0, str(_folder))


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of consent, cases and profiles of this test alone; no key of the machine's owner, no proxy."""
    import os

    for name in os.environ:
        if name.startswith(("OPENAI_", "GEMINI_", "GOOGLE_", "OLLAMA_", "OPTIMAS_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
