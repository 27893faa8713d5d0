"""The manual backend: files and the clipboard carry prompt and answer for machines without a network."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest
from dialects import PROMPT, REPAIR, REQUEST, TEXT

from optimas_lsp.config import Rewrite
from optimas_lsp.rewrite.backends.clipboard import Clipboard
from optimas_lsp.rewrite.backends.making import make_backend
from optimas_lsp.rewrite.backends.manual import ClipboardExchange, FileExchange, ManualBackend
from optimas_lsp.rewrite.backends.model import BackendError
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.proposal import Proposal


def backend(folder: Path, seconds: float = 20.0) -> ManualBackend:
    exchange = FileExchange(folder / "prompt.txt", folder / "answer.txt")
    return ManualBackend(Rewrite(timeout_seconds=seconds), exchange, poll_s=0.02)


def test_the_prompt_is_written_and_an_answer_that_is_there_is_taken(tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text(f"Sure:\n```json\n{TEXT}\n```\n", "utf-8")
    os.utime(answer, (1, 1))
    reply = asyncio.run(backend(tmp_path).ask(REQUEST))
    assert isinstance(reply.outcome, Proposal)
    assert (tmp_path / "prompt.txt").read_text("utf-8") == PROMPT.text


def test_an_answer_that_comes_later_is_awaited_and_a_repair_needs_a_new_one(tmp_path: Path) -> None:
    async def both() -> tuple[object, object]:
        person = backend(tmp_path)
        first = asyncio.create_task(person.ask(REQUEST))
        while not (tmp_path / "prompt.txt").exists():  # noqa: ASYNC110 - a file tells nobody that it is there
            await asyncio.sleep(0.01)
        (tmp_path / "answer.txt").write_text("I cannot help with that.", "utf-8")
        refused = (await first).outcome
        second = asyncio.create_task(person.ask(REPAIR))
        while "it does not compile" not in (tmp_path / "prompt.txt").read_text("utf-8"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        (tmp_path / "answer.txt").write_text(TEXT, "utf-8")
        return refused, (await second).outcome

    refused, repaired = asyncio.run(both())
    assert isinstance(refused, NoProposal)
    assert refused.kind == "refusal"
    assert isinstance(repaired, Proposal)


def test_nobody_answering_is_a_time_out(tmp_path: Path) -> None:
    reply = asyncio.run(backend(tmp_path, 0.1).ask(REQUEST))
    assert isinstance(reply.outcome, NoProposal)
    assert reply.outcome.kind == "time-out"


def test_a_prompt_that_cannot_be_written_is_an_error_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="cannot be written"):
        asyncio.run(backend(tmp_path / "gone").ask(REQUEST))
    with pytest.raises(BackendError, match="both --prompt-file and --answer-file"):
        make_backend(Rewrite(backend="manual"), prompt_file=tmp_path / "prompt.txt")


def clipboard(folder: Path) -> Clipboard:
    """A clipboard that is a file, behind two real programs."""
    board = str(folder / "board")
    put = f"import sys; open({board!r}, 'wb').write(sys.stdin.buffer.read())"
    get = f"import sys; sys.stdout.buffer.write(open({board!r}, 'rb').read())"
    return Clipboard((sys.executable, "-c", put), (sys.executable, "-c", get))


def test_what_is_copied_after_the_prompt_is_the_answer(tmp_path: Path) -> None:
    async def talk() -> object:
        board = clipboard(tmp_path)
        person = ManualBackend(Rewrite(timeout_seconds=30), ClipboardExchange(board), poll_s=0.05)
        task = asyncio.create_task(person.ask(REQUEST))
        while PROMPT.user not in await board.paste():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await board.copy(TEXT)
        return (await task).outcome

    assert isinstance(asyncio.run(talk()), Proposal)


def test_a_missing_or_failing_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendError, match="no program for the clipboard"):
        Clipboard.of_system()
    failing = Clipboard((sys.executable, "-c", "raise SystemExit(3)"), (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(BackendError, match="status 3"):
        asyncio.run(failing.copy("text"))
    assert asyncio.run(failing.paste()) == ""


def test_cancelling_leaves_no_program_behind(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    slow = Clipboard((sys.executable, "-c", code), (sys.executable, "-c", code))

    async def cancel() -> None:
        task = asyncio.create_task(slow.copy("text"))
        while not (pid.exists() and pid.read_text()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert threading.active_count() < 50
