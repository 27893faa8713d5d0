"""Two servers on one folder, real processes both: nothing is lost, run twice or taken for dead while it lives."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.server.jobs import NEOVIM, VSCODE, YES, Compiler, below, started

if TYPE_CHECKING:
    from tests.server.conftest import Connect, EditorClient

pytestmark = pytest.mark.asyncio

KERNEL = "_Z15adjacent_kernelPKfPfi"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state and data folders that both servers use."""
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "state"


@pytest_asyncio.fixture
async def both(
    connect: Connect, place: Callable[[str], Path], recorded: dict[str, Any], compiler: Compiler
) -> tuple[Any, Any, str]:
    """VS Code and Neovim on one copy of a sample, with its source open in both and ``compiler`` on their path."""
    folder = place("adjacent")
    one, uri = await started(connect, folder, recorded)
    other, _ = await started(connect, folder, recorded, client=NEOVIM)
    one.choice = other.choice = YES
    return one, other, uri


async def kill(editor: EditorClient) -> None:
    """End a server as kill -9 does, and wait for what it started."""
    left = below(editor)
    assert editor._server is not None
    editor._server.kill()
    await editor._server.wait()
    psutil.wait_procs(left, timeout=180)


def kept(state: Path, identifier: str) -> bool:
    """Whether that job is on disk."""
    return any(state.glob(f"jobs/*/{identifier}.job.json"))


async def listed(editor: EditorClient, found: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """The jobs once they are as wanted."""
    await editor.until(lambda: found(editor.jobs))
    return editor.jobs


async def lenses(editor: EditorClient, uri: str) -> list[str]:
    found = await editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    return [each.command.title for each in found if each.command is not None]


async def test_a_job_runs_in_one_editor_and_its_result_is_offered_in_both(
    both: tuple[EditorClient, EditorClient, str], compiler: Compiler
) -> None:
    one, other, uri = both
    compiler.hold()
    asked = await one.command("optimizeKernel", uri, None)
    assert not asked["elsewhere"]
    await compiler.began()
    (seen,) = await listed(other, lambda jobs: [each["state"] for each in jobs] == ["running"])
    assert (seen["id"], seen["elsewhere"], seen["words"]) == (asked["id"], True, "in another editor")
    assert "Optimising in another editor" in await lenses(other, uri)
    for command, sentence in {"cancelJob": "cancel it there", "forgetJob": "in the editor that asked"}.items():
        with pytest.raises(JsonRpcException, match=sentence):
            await other.command(command, asked["id"])
    with pytest.raises(JsonRpcException, match=r"being rewritten already .*in another editor"):
        await other.command("optimizeKernel", uri, None)
    assert [each for each in below(other) if "optimas_lsp.course" in each.cmdline()] == []

    compiler.release()
    assert (await one.job(asked["id"]))["offer"] == "ready"
    done = await other.job(asked["id"])
    assert (done["state"], done["proof"], done["offer"], done["elsewhere"]) == ("done", "proven", "ready", False)
    assert [each.message for each in other.messages if "proven" in each.message] == []
    assert "#pragma unroll" in (await other.command("outcome", asked["id"]))["edited"]
    assert (await other.command("applyOutcome", asked["id"]))["applied"]
    assert "#pragma unroll" in other.texts[uri]
    assert "#pragma unroll" not in one.texts[uri]
    await other.command("forgetJob", asked["id"])
    assert await listed(one, lambda jobs: jobs == []) == []


async def test_a_killed_server_is_noticed_by_the_other_which_can_then_do_the_work(
    both: tuple[EditorClient, EditorClient, str], compiler: Compiler, state: Path
) -> None:
    one, other, uri = both
    done = await one.command("optimizeKernel", uri, None)
    await one.job(done["id"])
    compiler.hold()
    cut = await one.command("optimizeKernel", uri, None)
    await compiler.began()
    await other.job(cut["id"], "running")
    await kill(one)
    over = await other.job(cut["id"])
    assert (over["state"], over["elsewhere"]) == ("interrupted", False)
    assert "Run it again" in over["sentence"]
    assert list((state / "servers").iterdir()) == []
    compiler.set("exit 0")
    again = await other.command("optimizeKernel", uri, None)
    assert (await other.job(again["id"]))["proof"] == "proven"
    assert [each["id"] for each in other.jobs] == [again["id"], cut["id"], done["id"]]


async def test_a_server_that_left_in_order_leaves_its_job_interrupted(
    both: tuple[EditorClient, EditorClient, str], compiler: Compiler
) -> None:
    one, other, uri = both
    compiler.hold()
    cut = await one.command("optimizeKernel", uri, None)
    await compiler.began()
    await other.job(cut["id"], "running")
    await one.shutdown_session()
    assert (await other.job(cut["id"]))["state"] == "interrupted"
    assert not compiler.left()


async def test_asked_in_both_at_once_it_runs_once(
    both: tuple[EditorClient, EditorClient, str], compiler: Compiler
) -> None:
    one, other, uri = both
    compiler.hold()
    answers = await asyncio.gather(
        *(each.command("optimizeKernel", uri, None) for each in (one, other)), return_exceptions=True
    )
    refused = [each for each in answers if isinstance(each, JsonRpcException)]
    assert len(refused) == 1
    assert "in another editor" in str(refused[0])
    await compiler.began()
    (job,) = [each for each in answers if isinstance(each, dict)]
    courses = [each for editor in (one, other) for each in below(editor) if "optimas_lsp.course" in each.cmdline()]
    assert len(courses) == 1
    winner = one if (await one.command("jobs"))["jobs"][0]["elsewhere"] is False else other
    await winner.command("cancelJob", job["id"])
    loser = other if winner is one else one
    assert (await loser.job(job["id"]))["state"] == "cancelled"


async def test_a_job_under_which_the_state_folder_was_emptied_is_seen_again_and_not_run_twice(
    both: tuple[EditorClient, EditorClient, str], compiler: Compiler, state: Path
) -> None:
    one, other, uri = both
    compiler.hold()
    asked = await one.command("optimizeKernel", uri, None)
    await compiler.began()
    await other.job(asked["id"], "running")
    shutil.rmtree(state)
    while not kept(state, asked["id"]):
        one.news.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(one.news.wait(), 1)
    with pytest.raises(JsonRpcException, match=r"being rewritten already .*in another editor"):
        await other.command("optimizeKernel", uri, None)
    compiler.release()
    assert (await one.job(asked["id"]))["offer"] == "ready"
    assert (await other.job(asked["id"]))["offer"] == "ready"


async def test_marks_of_both_are_kept_and_shown_in_both(
    both: tuple[EditorClient, EditorClient, str], connect: Connect
) -> None:
    one, other, uri = both

    async def known(editor: EditorClient, count: int) -> None:
        editor.news.clear()
        while len((await editor.debug())["known"]) != count:
            await asyncio.wait_for(editor.news.wait(), 120)
            editor.news.clear()

    await asyncio.gather(one.command("markKnown", uri, "PC-1"), other.command("markKnown", uri, "PC-2"))
    await known(one, 2)
    await known(other, 2)
    await one.command("unmarkKnown", uri, "PC-2")
    await known(other, 1)
    third, _ = await started(connect, Path(uri.removeprefix("file://")).parent, {}, client=VSCODE)
    await known(third, 1)
