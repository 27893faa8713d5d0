"""What goes wrong around a job: no room, no permission, a client that is gone or late, a folder that moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.server.jobs import NEOVIM, NO_BUILD, YES, Compiler, below, started

if TYPE_CHECKING:
    from tests.server.conftest import Connect, EditorClient

pytestmark = pytest.mark.asyncio

BUILT = NO_BUILD | {"prove": {"offer": "built"}}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state and data folders of this test."""
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "state"


def spoil(state: Path) -> None:
    """Let nothing be written below, for root neither: files stand where the folders would be."""
    state.mkdir()
    for name in ("jobs", "servers", "known"):
        (state / name).write_text("")


def complaints(editor: EditorClient) -> list[str]:
    return [each.message for each in editor.messages if "cannot be kept" in each.message]


async def test_an_outcome_that_the_disk_has_no_room_for_is_offered_and_kept_once_there_is_room(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    folder = place("adjacent")
    editor, uri = await started(connect, folder, recorded)
    other, _ = await started(connect, folder, recorded, client=NEOVIM)
    editor.choice = YES
    compiler.hold()
    job = await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    await other.job(job["id"], "running")
    assert editor._server is not None
    server = psutil.Process(editor._server.pid)
    limits = server.rlimit(psutil.RLIMIT_FSIZE)
    server.rlimit(psutil.RLIMIT_FSIZE, (0, limits[1]))  # no file of the server can grow, as on a full disk
    compiler.release()
    over = await editor.job(job["id"])
    assert (over["state"], over["proof"], over["offer"]) == ("done", "proven", "ready")
    await editor.until(lambda: complaints(editor))
    assert "#pragma unroll" in (await editor.command("outcome", job["id"]))["edited"]
    assert "proven" in (await editor.command("outcome", job["id"]))["text"]
    server.rlimit(psutil.RLIMIT_FSIZE, limits)
    over = await other.job(job["id"])
    assert (over["state"], over["offer"]) == ("done", "ready")
    assert "+    #pragma unroll" in (await other.command("outcome", job["id"]))["diff"]
    assert len(complaints(editor)) == 1


async def test_without_a_state_folder_to_write_in_rewrites_last_as_long_as_the_session_and_that_is_said_once(
    connect: Connect, place: Callable[[str], Path], state: Path
) -> None:
    spoil(state)
    editor, uri = await started(connect, place("adjacent"), BUILT)
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert (job["state"], job["offer"]) == ("done", "ready")
    await editor.until(lambda: complaints(editor))
    assert "OPTIMAS_STATE_DIR" in complaints(editor)[0]
    again = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert again["state"] == "done"
    assert (await editor.command("applyOutcome", job["id"]))["applied"]
    with pytest.raises(JsonRpcException, match="OPTIMAS_STATE_DIR"):
        await editor.command("markKnown", uri, "PC-1")
    await editor.command("forgetJob", job["id"])
    assert [each["id"] for each in (await editor.command("jobs"))["jobs"]] == [again["id"]]
    assert len(complaints(editor)) == 1


async def test_a_client_that_vanishes_in_the_middle_of_a_job_leaves_no_process(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    compiler.hold()
    await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    left = below(editor)
    assert editor._server is not None
    assert editor._server.stdin is not None
    editor._server.stdin.close()
    assert await asyncio.wait_for(editor._server.wait(), 120) == 1
    psutil.wait_procs(left, timeout=120)
    assert not compiler.left()


async def test_a_folder_that_moves_while_a_job_runs_harms_nobody(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    folder = place("adjacent")
    editor, uri = await started(connect, folder, recorded)
    editor.choice = YES
    compiler.hold()
    job = await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    moved = folder.rename(folder.with_name("moved"))
    compiler.release()
    over = await editor.job(job["id"])
    assert over["state"] in {"done", "failed"}, over
    assert (await editor.debug())["ready"]
    assert not compiler.left()
    old, new = (types.WorkspaceFolder(each.as_uri(), each.name) for each in (folder, moved))
    change = types.WorkspaceFoldersChangeEvent(added=[new], removed=[old])
    editor.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(change))
    there = editor.open(moved / "adjacent.cu")
    await editor.settled()
    again = await editor.job((await editor.command("optimizeKernel", there, None))["id"])
    assert (again["state"], again["proof"]) == ("done", "proven")


async def test_a_yes_that_comes_when_the_job_is_cancelled_runs_nothing(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any], state: Path
) -> None:
    compiler.set('touch "$0.ran"')
    editor, uri = await started(connect, place("adjacent"), recorded)
    late, asked = asyncio.Event(), 0

    async def slowly(_: types.ShowMessageRequestParams) -> types.MessageActionItem:
        nonlocal asked
        asked += 1
        await late.wait()
        return types.MessageActionItem(YES if asked == 1 else "No")

    editor.protocol.fm.features.pop(types.WINDOW_SHOW_MESSAGE_REQUEST)
    editor.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(slowly)
    job = await editor.command("optimizeKernel", uri, None)
    await editor.job(job["id"], "waiting-for-consent")
    await editor.command("cancelJob", job["id"])
    assert (await editor.job(job["id"]))["state"] == "cancelled"
    late.set()
    again = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert again["state"] == "cancelled"
    assert "nothing was run" in again["sentence"]
    assert asked == 2
    assert not (state / "consent.json").exists()
    assert [each.name for each in compiler.script.parent.iterdir()] == ["nvcc"]


@pytest.mark.full
async def test_an_edit_without_an_answer_is_given_up_and_noticed_when_the_text_has_it(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    editor, uri = await started(connect, place("adjacent"), BUILT)
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    never = asyncio.Event()

    async def silent(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        editor.edits.append(params)
        await never.wait()
        return types.ApplyWorkspaceEditResult(applied=False)

    editor.protocol.fm.features.pop(types.WORKSPACE_APPLY_EDIT)
    editor.feature(types.WORKSPACE_APPLY_EDIT)(silent)
    answer = await editor.command("applyOutcome", job["id"])
    assert not answer["applied"]
    assert "did not apply the edit: no answer within 30 s; nothing was changed" in answer["sentence"]
    editor.take(editor.edits[0].edit)
    await editor.until(lambda: any(each["offer"] == "applied" for each in editor.jobs if each["id"] == job["id"]))
    assert (await editor.command("applyOutcome", job["id"]))["sentence"] == "adjacent_kernel is rewritten already"
    assert len(editor.edits) == 1
    never.set()
