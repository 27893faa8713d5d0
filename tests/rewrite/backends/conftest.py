"""No key of the machine's owner takes part in a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that an SDK would read by itself, and no keyring."""
    import os

    for name in os.environ:
        if name.startswith(("OPENAI_", "GEMINI_", "GOOGLE_", "OLLAMA_", "OPTIMAS_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
