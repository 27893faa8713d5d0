"""A client that answers late, or never, holds nothing up for longer than a moment; a late answer is not lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp.server import editor as outward
from optimas_lsp.server.client import Client
from optimas_lsp.server.editor import Editor
from optimas_lsp.server.hardening import tokens_of

if TYPE_CHECKING:
    from conftest import Spoken

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is no decision of the user's is waited for only as long as a turn of the loop or two."""
    monkeypatch.setattr(outward, "ANSWER_SECONDS", 0.01)
    monkeypatch.setattr(outward, "BAR_SECONDS", 0.01)


@pytest.fixture
def editor(spoken: Spoken) -> Editor:
    return Editor(spoken.server, Client(configuration=True, work_done_progress=True, show_document=True))


def asked(spoken: Spoken, method: str) -> list[dict[str, Any]]:
    return [each for each in spoken.wire.sent if each.get("method") == method]


async def test_settings_that_come_late_are_asked_for_again_and_only_once(spoken: Spoken, editor: Editor) -> None:
    await spoken.initialize()
    late = asyncio.Event()
    assert await editor.configuration([None], late.set) is None
    assert await editor.configuration([None], late.set) is None
    first, second = asked(spoken, types.WORKSPACE_CONFIGURATION)
    spoken.say({"id": first["id"], "result": [{}]})
    assert not late.is_set()
    spoken.say({"id": second["id"], "result": [{}]})
    await asyncio.wait_for(late.wait(), 60)


async def test_settings_that_are_refused_late_are_not_asked_for_again(spoken: Spoken, editor: Editor) -> None:
    await spoken.initialize()
    late: list[int] = []
    assert await editor.configuration([None], lambda: late.append(1)) is None
    (question,) = asked(spoken, types.WORKSPACE_CONFIGURATION)
    spoken.say({"id": question["id"], "error": {"code": -32603, "message": "no"}})
    assert editor._late is not None
    await asyncio.wait({editor._late}, timeout=60)
    await asyncio.sleep(0)
    assert late == []


async def test_what_is_never_answered_is_given_up(spoken: Spoken, editor: Editor, tmp_path: Any) -> None:
    await spoken.initialize()
    edit = types.ApplyWorkspaceEditParams(types.WorkspaceEdit(changes={}))
    with pytest.raises(JsonRpcException, match="no answer"):
        await editor.apply(edit)
    assert not await editor.open(tmp_path)
    assert (await editor.progress("a job")).token is None
    while editor._opening:
        await asyncio.wait(editor._opening, timeout=60)
        await asyncio.sleep(0)
    assert not tokens_of(spoken.server.work_done_progress)
    await editor.register("optimas", types.WORKSPACE_DID_CHANGE_CONFIGURATION, None)
    editor.client = Client(configuration=False)
    assert await editor.configuration([None], lambda: None) is None


async def test_work_begins_without_its_bar_which_comes_late_with_what_was_said_last(
    spoken: Spoken, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outward, "ANSWER_SECONDS", 60.0)
    await spoken.initialize()
    stopped = asyncio.Event()
    late, over = await editor.progress("late"), await editor.progress("over")
    late.on_cancel(stopped.set)
    late.report("one")
    late.report("two", 50)
    over.report("one")
    over.end("done")
    assert asked(spoken, types.PROGRESS) == []
    first, second = asked(spoken, types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    for each in (second, first):
        spoken.say({"id": each["id"], "result": None})
    shown = await spoken.wire.until(lambda: asked(spoken, types.PROGRESS)[1:])
    (begin, *_), token = asked(spoken, types.PROGRESS), first["params"]["token"]
    assert (begin["params"]["token"], begin["params"]["value"]["title"]) == (token, "late")
    assert (shown[0]["params"]["token"], shown[0]["params"]["value"]["message"]) == (token, "two")
    assert list(tokens_of(spoken.server.work_done_progress)) == [token]
    spoken.say({"method": types.WINDOW_WORK_DONE_PROGRESS_CANCEL, "params": {"token": token}})
    await asyncio.wait_for(stopped.wait(), 60)
    late.end("done")
    assert not tokens_of(spoken.server.work_done_progress)


async def test_a_bar_whose_work_was_cancelled_before_it_came_is_never_shown(
    spoken: Spoken, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outward, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(outward, "BAR_SECONDS", 60.0)
    await spoken.initialize()
    work = asyncio.ensure_future(editor.progress("cancelled"))
    (question,) = await spoken.wire.until(lambda: asked(spoken, types.WINDOW_WORK_DONE_PROGRESS_CREATE))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    spoken.say({"id": question["id"], "result": None})
    await asyncio.wait(editor._opening, timeout=60)
    assert asked(spoken, types.PROGRESS) == []
    assert not tokens_of(spoken.server.work_done_progress)
