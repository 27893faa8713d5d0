"""Commands under test keep their cache away from the user's."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The cache of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTIMAS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
