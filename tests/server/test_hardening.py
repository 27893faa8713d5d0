"""Each known defect of pygls 2.1.1 is cured, and none of the cures depends on timing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from conftest import Spoken

pytestmark = pytest.mark.asyncio

HOVER = "textDocument/hover"


async def test_a_request_whose_parameters_do_not_decode_is_refused_as_invalid(spoken: Spoken) -> None:
    spoken.server.feature(HOVER)(lambda params: None)
    await spoken.initialize()
    for number, params in enumerate([{"position": "nowhere"}, [], None, "text", {"textDocument": {"uri": 3}}]):
        spoken.say({"id": number, "method": HOVER, "params": params})
        answer = await spoken.wire.answer(number)
        assert answer["error"]["code"] == -32602
        assert HOVER in answer["error"]["message"]
    spoken.say({"id": "last", "method": HOVER})
    assert (await spoken.wire.answer("last"))["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"{", -32700), (b"\xff\xfe", -32700), (b"[]", -32600), (b"7", -32600), (b"[" * 100_000, -32700)],
)
async def test_a_body_that_is_no_message_is_answered_and_nothing_breaks(spoken: Spoken, body: bytes, code: int) -> None:
    await spoken.initialize()
    spoken.say(body)
    answer = await spoken.wire.answer(None)
    assert answer["error"]["code"] == code
    assert "id" in answer
    spoken.say({"id": 1, "method": "shutdown"})
    assert (await spoken.wire.answer(1))["result"] is None


async def test_an_object_that_merely_mentions_jsonrpc_inside_parameters_stays_what_it_is(spoken: Spoken) -> None:
    seen: list[Any] = []
    spoken.server.command("test.take")(lambda *arguments: seen.extend(arguments))
    await spoken.initialize()
    inner = {"jsonrpc": "2.0", "id": 9, "method": HOVER}
    params = {"command": "test.take", "arguments": [inner]}
    spoken.say({"id": 1, "method": "workspace/executeCommand", "params": params})
    await spoken.wire.answer(1)
    assert seen == [inner]


@pytest.mark.parametrize("params", [{}, {"params": {"anything": 1}}, {"params": [1, 2]}, {"extra": True}])
async def test_an_unknown_request_is_answered_whatever_it_carries(spoken: Spoken, params: dict[str, Any]) -> None:
    await spoken.initialize()
    spoken.say({"id": 1, "method": "no/such/method", **params})
    assert (await spoken.wire.answer(1))["error"]["code"] == -32601
    spoken.say({"method": "no/such/notification", **params})
    assert len(spoken.wire.answers(1)) == 1


async def test_before_initialize_and_after_shutdown_requests_are_refused_and_not_left_waiting(spoken: Spoken) -> None:
    spoken.server.feature(HOVER)(lambda params: None)
    spoken.say({"id": 1, "method": HOVER, "params": {}})
    assert (await spoken.wire.answer(1))["error"]["code"] == -32002
    await spoken.initialize()
    spoken.say({"id": 2, "method": "initialize", "params": {"capabilities": {}, "processId": None, "rootUri": None}})
    assert (await spoken.wire.answer(2))["error"]["code"] == -32600
    spoken.say({"id": 3, "method": "shutdown"})
    await spoken.wire.answer(3)
    spoken.say({"id": 4, "method": HOVER, "params": {}})
    assert (await spoken.wire.answer(4))["error"]["code"] == -32600


async def test_cancelling_a_running_command_stops_it_and_answers_once(spoken: Spoken) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    async def endless(*_: object) -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    spoken.server.command("test.endless")(endless)
    await spoken.initialize()
    spoken.say({"id": 5, "method": "workspace/executeCommand", "params": {"command": "test.endless"}})
    await asyncio.wait_for(running.wait(), 60)
    spoken.say({"method": "$/cancelRequest", "params": {"id": 5}})
    answer = await spoken.wire.answer(5)
    await asyncio.wait_for(stopped.wait(), 60)
    assert answer["error"]["code"] == -32800
    assert len(spoken.wire.answers(5)) == 1
    assert spoken.server.protocol.in_flight == 0


async def test_a_command_that_cancels_itself_is_still_answered(spoken: Spoken) -> None:
    async def gives_up(*_: object) -> None:
        raise asyncio.CancelledError

    spoken.server.command("test.gives_up")(gives_up)
    await spoken.initialize()
    spoken.say({"id": 6, "method": "workspace/executeCommand", "params": {"command": "test.gives_up"}})
    assert (await spoken.wire.answer(6))["error"]["code"] == -32800


async def test_nothing_is_kept_of_notifications_and_requests_that_are_over(spoken: Spoken) -> None:
    handled = asyncio.Semaphore(0)

    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        await asyncio.sleep(0)
        handled.release()

    spoken.server.feature("textDocument/didChange")(changed)
    await spoken.initialize()
    params = {"textDocument": {"uri": "file:///a.cu", "version": 1}, "contentChanges": [{"text": "x"}]}
    for _ in range(50):
        spoken.say({"method": "textDocument/didChange", "params": params})
    for _ in range(50):
        await asyncio.wait_for(handled.acquire(), 60)
    for number in range(50):
        spoken.say({"id": number, "method": "workspace/executeCommand", "params": {"command": "none"}})
        await spoken.wire.answer(number)
    await asyncio.sleep(0)
    assert spoken.server.protocol.in_flight == 0
    assert spoken.server.protocol._result_types == {}


async def test_a_progress_token_is_forgotten_when_its_work_ends(spoken: Spoken) -> None:
    await spoken.initialize()
    progress = spoken.server.work_done_progress
    progress.begin("t", types.WorkDoneProgressBegin(title="work"))
    assert "t" in progress.tokens
    progress.end("t", types.WorkDoneProgressEnd())
    assert progress.tokens == {}


async def test_shutdown_works_while_other_requests_are_in_flight(spoken: Spoken) -> None:
    async def endless(*_: object) -> None:
        await asyncio.Event().wait()

    spoken.server.command("test.endless")(endless)
    await spoken.initialize()
    for number in range(20):
        spoken.say({"id": number, "method": "workspace/executeCommand", "params": {"command": "test.endless"}})
    spoken.say({"id": "down", "method": "shutdown"})
    assert (await spoken.wire.answer("down"))["result"] is None
    for number in range(20):
        assert (await spoken.wire.answer(number))["error"]["code"] == -32800


async def test_a_notification_that_fails_is_logged_and_shown_to_nobody(
    spoken: Spoken, caplog: pytest.LogCaptureFixture
) -> None:
    async def later(params: Any) -> None:
        raise ValueError("later")

    def now(params: Any) -> None:
        raise ValueError("now")

    spoken.server.feature("textDocument/didOpen")(later)
    spoken.server.feature("textDocument/didClose")(now)
    await spoken.initialize()
    document = {"uri": "file:///a.cu", "languageId": "cuda", "version": 1, "text": ""}
    spoken.say({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    spoken.say({"method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///a.cu"}}})
    spoken.say({"method": "textDocument/didClose", "params": {"textDocument": 3}})
    for _ in range(5):
        await asyncio.sleep(0)
    assert [message for message in spoken.wire.sent if message.get("method") == "window/showMessage"] == []
    assert {"later", "now"} <= {str(record.exc_info[1]) for record in caplog.records if record.exc_info}


async def test_a_request_that_fails_says_so_to_its_asker_only(spoken: Spoken) -> None:
    def broken(params: Any) -> None:
        raise ValueError("deep inside")

    spoken.server.feature(HOVER)(broken)
    await spoken.initialize()
    params = {"textDocument": {"uri": "file:///a.cu"}, "position": {"line": 0, "character": 0}}
    spoken.say({"id": 1, "method": HOVER, "params": params})
    answer = await spoken.wire.answer(1)
    assert answer["error"]["code"] == -32603
    assert "deep inside" in answer["error"]["message"]
    assert not [message for message in spoken.wire.sent if message.get("method") == "window/showMessage"]


async def test_a_clients_answer_that_does_not_decode_fails_the_question_instead_of_hanging_it(spoken: Spoken) -> None:
    await spoken.initialize()
    asked = asyncio.ensure_future(
        spoken.server.window_show_message_request_async(
            types.ShowMessageRequestParams(type=types.MessageType.Info, message="which?")
        )
    )
    question = await spoken.wire.until(lambda: [m for m in spoken.wire.sent if m.get("method")])
    spoken.say({"id": question[0]["id"], "result": ["not", "an", "action"]})
    with pytest.raises(JsonRpcException):
        await asyncio.wait_for(asked, 60)
    assert spoken.server.protocol.in_flight == 0


async def test_a_late_answer_to_an_abandoned_question_is_ignored(spoken: Spoken) -> None:
    await spoken.initialize()
    asked = asyncio.ensure_future(spoken.server.workspace_code_lens_refresh_async(None))
    question = await spoken.wire.until(lambda: [m for m in spoken.wire.sent if m.get("method")])
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    spoken.say({"id": question[0]["id"], "result": None})
    spoken.say({"id": "never asked", "error": {"code": 1, "message": "?"}})
    await asyncio.sleep(0)
    assert spoken.server.protocol.in_flight == 0


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["utf-8", "utf-16", "utf-32"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-16"], "utf-16"),
        (["ebcdic", "utf-16"], "utf-16"),
        ([], "utf-16"),
        (None, "utf-16"),
    ],
)
async def test_the_position_encoding_is_the_clients_first_that_we_speak(
    spoken: Spoken, offered: list[str] | None, chosen: str
) -> None:
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    assert (await spoken.initialize(general))["positionEncoding"] == chosen


async def test_a_huge_request_id_and_a_text_id_come_back_unchanged(spoken: Spoken) -> None:
    await spoken.initialize()
    for msg_id in (2**40, -1, "some text", "7"):
        spoken.say({"id": msg_id, "method": "no/such/method"})
        assert json.dumps((await spoken.wire.answer(msg_id))["id"]) == json.dumps(msg_id)
