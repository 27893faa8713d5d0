"""Rewrites as jobs, through the server and the real course: queue, progress, consent, staleness, restart, the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.conftest import EditorClient

pytestmark = pytest.mark.asyncio

VSCODE = "vscode_1.100.3_languageclient_11"
NO_BUILD = {"jobs": {"build": False}}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder of this test."""
    folder = tmp_path / "state"
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(folder))
    return folder


async def over(client: EditorClient, identifier: str) -> dict[str, Any]:
    """The job once it is over."""
    while True:
        client.news.clear()
        (job,) = [each for each in (await client.command("jobs"))["jobs"] if each["id"] == identifier]
        if job["state"] not in {"queued", "running", "waiting-for-consent"}:
            return job
        await client.until(client.news.is_set, 60)


async def test_a_kernel_is_rewritten_by_the_catalogue(
    connect: Callable[..., Any], place: Callable[[str], Path]
) -> None:
    folder = place("adjacent")
    client = await connect(VSCODE, folder, configuration=NO_BUILD, options={"jobs": True})
    uri = client.open(folder / "adjacent.cu")
    await client.settled()
    asked = await client.command("optimizeKernel", uri, None)
    assert asked["state"] == "queued"
    job = await over(client, asked["id"])
    assert (job["state"], job["status"], job["proof"], job["offer"]) == ("done", "candidate", "not-proven", "none")
    outcome = await client.command("outcome", job["id"])
    assert outcome["text"].startswith("# Optimise adjacent_kernel")
    assert outcome["diff"].startswith("--- a/adjacent.cu")
