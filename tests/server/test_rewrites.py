"""Rewrites as jobs, through the server and the real course: queue, progress, consent, staleness, restart, the end.

A script stands for nvcc, so that what a job waits for is in the test's hand; compiling is tested where it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp.corpus import Corpus
from tests.server.jobs import (
    LISTED,
    NEOVIM,
    NO_BUILD,
    VSCODE,
    YES,
    Compiler,
    below,
    course_of,
    started,
)

if TYPE_CHECKING:
    from tests.server.conftest import Connect


def plain(value: Any) -> dict[str, Any]:
    """An answer as JSON has it."""
    return value if isinstance(value, dict) else value._asdict()


pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state and data folders of this test."""
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "state"


async def test_a_rewrite_goes_through_its_stages_to_a_recorded_proof(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    asked = await editor.command("optimizeKernel", uri, None)
    assert asked["kernel"] == "adjacent_kernel"
    job = await editor.job(asked["id"])
    assert (job["state"], job["status"], job["proof"], job["offer"]) == ("done", "candidate", "proven", "ready")
    assert job["recorded"].startswith("recorded on NVIDIA H200, 2026-12-01")
    assert job["speedup"]["low"] < job["speedup"]["value"] < job["speedup"]["high"]
    (question,) = editor.questions
    assert "nvcc -O3 -arch=sm_90" in question.message
    assert uri.removeprefix("file://").removesuffix("/adjacent.cu") in question.message
    (told,) = [each.message for each in editor.messages if "proven" in each.message]
    assert "95 % interval" in told
    assert "recorded on NVIDIA H200" in told
    assert "not measured now" in told
    (reports,) = [each for each in editor.progress_reports.values() if each[0].title == "Optimise adjacent_kernel"]
    assert reports[0].cancellable
    shown = [each.percentage for each in reports[1:-1]]
    assert shown == sorted(shown)
    words = [each.message or "" for each in reports]
    assert any("building the candidate" in each for each in words)
    outcome = await editor.command("outcome", job["id"])
    assert "recorded elsewhere" in outcome["text"]
    assert "+    #pragma unroll" in outcome["diff"]
    assert "#pragma unroll" in outcome["edited"]
    assert not compiler.left()


@pytest.mark.usefixtures("compiler")
async def test_a_refused_rewrite_is_kept_with_its_reason_and_ranks_lower_next_time(
    connect: Connect, place: Callable[[str], Path], recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    corpus = Corpus.of_user()  # the server's
    (row,) = [each for each in corpus.store.each_row() if each.entry.ending == "proven"]
    name = row.entry.transformations[0]
    before = corpus.experience(row.entry.rules).factor(name, row.entry.rules)
    assert (await editor.command("refuseOutcome", job["id"], "nobody can read it", "reverted"))["refused"]
    (no,) = corpus.store.find(row.entry.key).noes
    assert (no.kind, no.reason) == ("reverted", "nobody can read it")
    assert corpus.experience(row.entry.rules).factor(name, row.entry.rules) < before
    with pytest.raises(JsonRpcException, match="one of rejected, reverted"):
        await editor.command("refuseOutcome", job["id"], "", "hated")
    editor.choice = "Not worth the change"
    assert (await editor.command("refuseOutcome", job["id"]))["refused"], "without a reason the user is asked"
    assert {each.reason for each in corpus.store.find(row.entry.key).noes} == {"nobody can read it", editor.choice}
    editor.choice = None
    assert not (await editor.command("refuseOutcome", job["id"]))["refused"], "no answer keeps nothing"
    assert len(corpus.store.find(row.entry.key).noes) == 2
    corpus.store.database.path.unlink()
    with pytest.raises(JsonRpcException, match="cannot be kept"):
        await editor.command("refuseOutcome", job["id"], "why")


async def test_a_finding_in_a_header_is_rewritten_there(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("stencil")
    settings = NO_BUILD | {"prove": {"offer": "built"}}
    editor = await connect(VSCODE, folder, configuration=settings, options=LISTED)
    uri = editor.open(folder / "derivatives.cuh")
    await editor.settled()
    finding = next(each for each in await editor.squiggles(uri) if each.data["evidence"][0].startswith("PC-"))
    job = await editor.job((await editor.command("optimizeFinding", uri, finding.data["evidence"][0]))["id"])
    assert job["state"] == "done", job["sentence"]
    assert job["finding"] == finding.data["evidence"][0]
    assert job["line"] <= finding.range.start.line
    if job["offer"] == "ready":
        assert (await editor.command("applyOutcome", job["id"]))["applied"]
        assert editor.texts[uri] != (folder / "derivatives.cuh").read_bytes().decode()


async def test_a_no_runs_nothing(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, state: Path
) -> None:
    compiler.set('touch "$0.ran"')
    editor, uri = await started(connect, place("adjacent"), {})
    editor.choice = "No"
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert job["state"] == "cancelled"
    assert "nothing was run" in job["sentence"]
    assert [each.name for each in compiler.script.parent.iterdir()] == ["nvcc"]
    assert not (state / "consent.json").exists()


async def test_a_client_that_cannot_be_asked_is_told_how_to_accept(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler
) -> None:
    editor, uri = await started(connect, place("adjacent"), {}, client=None)  # type: ignore[arg-type]
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert job["state"] == "cancelled"
    assert "optimas consent" in job["sentence"]
    assert "nvcc -O3" in job["sentence"]
    assert editor.questions == []


async def test_jobs_wait_for_their_turn_and_one_answer_serves_all(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    first, second = place("adjacent"), place("lookup")
    editor = await connect(VSCODE, first, second, configuration=recorded, options=LISTED)
    one, other = editor.open(first / "adjacent.cu"), editor.open(second / "lookup.cu")
    await editor.settled()
    compiler.hold()
    editor.choice = YES
    running = await editor.command("optimizeKernel", one, None)
    await editor.job(running["id"], "running")
    waiting = await editor.command("optimizeKernel", other, None)
    assert (waiting["state"], waiting["queued"]) == ("queued", 1)
    with pytest.raises(JsonRpcException, match="being rewritten already"):
        await editor.command("optimizeKernel", one, None)
    await compiler.began()
    await editor.command("cancelJob", running["id"])
    assert (await editor.job(running["id"]))["state"] == "cancelled"
    await editor.job(waiting["id"], "running")
    await editor.command("cancelJob", waiting["id"])
    assert (await editor.job(waiting["id"]))["state"] == "cancelled"
    assert not compiler.left()
    with pytest.raises(JsonRpcException, match="over already"):
        await editor.command("cancelJob", waiting["id"])


@pytest.mark.parametrize("stage", ["queued", "running", "waiting-for-consent", "compile", "prove"])
async def test_cancelling_at_any_stage_leaves_no_process(
    connect: Connect,
    place: Callable[[str], Path],
    compiler: Compiler,
    stage: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if stage == "prove":  # a machine that seems to have a GPU: the real runner then waits for its build
        smi = compiler.script.with_name("nvidia-smi")
        smi.write_text('#!/bin/sh\necho "NVIDIA none, 1.0, GPU-0"\n')
        smi.chmod(0o755)
        compiler.hold("proof-")
    elif stage == "compile":
        compiler.hold()
    folder = place("adjacent")
    editor, uri = await started(connect, folder, {} if stage == "prove" else {"prove": {"executor": "local"}})
    answered = asyncio.Event()
    if stage == "waiting-for-consent":

        async def never(_: types.ShowMessageRequestParams) -> None:
            await answered.wait()

        editor.protocol.fm.features.pop(types.WINDOW_SHOW_MESSAGE_REQUEST)
        editor.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(never)
    editor.choice = YES
    job = await editor.command("optimizeKernel", uri, None)
    if stage in {"compile", "prove"}:
        await editor.until(lambda: any(each["stage"] == stage for each in editor.jobs), 60)
        await compiler.began()
    elif stage != "queued":
        await editor.job(job["id"], stage)
    await editor.command("cancelJob", job["id"])
    over = await editor.job(job["id"])
    assert over["state"] == "cancelled"
    assert below(editor) == []
    assert not compiler.left()
    answered.set()
    assert (await editor.debug())["ready"]


async def test_a_job_that_is_killed_fails_with_its_end_and_harms_nobody(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    compiler.hold()
    job = await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    course_of(editor).kill()
    over = await editor.job(job["id"])
    assert over["state"] == "failed"
    assert "signal 9" in over["sentence"]
    assert not compiler.left()
    assert await editor.squiggles(uri)
    compiler.set("exit 0")
    again = await editor.command("optimizeKernel", uri, None)
    assert (await editor.job(again["id"]))["proof"] == "proven"


async def test_a_job_that_takes_too_long_is_ended(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    compiler.hold()
    editor, uri = await started(connect, place("adjacent"), recorded | {"jobs": {"deadlineSeconds": 8}})
    editor.choice = YES
    reader = asyncio.ensure_future(compiler.began())
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert job["state"] == "failed"
    assert "longer than 8 s" in job["sentence"]
    assert "jobs.deadlineSeconds" in job["sentence"]
    assert not compiler.left()
    if not reader.done():
        compiler.script.with_name("began").write_text("")
    await reader


async def test_outcomes_survive_a_restart_and_a_job_of_a_killed_server_is_called_interrupted(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    folder = place("adjacent")
    editor, uri = await started(connect, folder, recorded)
    editor.choice = YES
    done = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    compiler.hold()
    cut = await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    left = [each for each in below(editor) if "optimas_lsp.course" in each.cmdline()]
    assert editor._server is not None
    editor._server.kill()
    await editor._server.wait()
    psutil.wait_procs(left, timeout=180)
    assert not compiler.left()

    again, uri = await started(connect, folder, recorded)
    listed = {each["id"]: each for each in (await again.command("jobs"))["jobs"]}
    assert listed[cut["id"]]["state"] == "interrupted"
    assert "Run it again" in listed[cut["id"]]["sentence"]
    assert (listed[done["id"]]["state"], listed[done["id"]]["offer"]) == ("done", "ready")
    assert (await again.command("applyOutcome", done["id"]))["applied"]
    assert "#pragma unroll" in again.texts[uri]
    await again.command("forgetJob", cut["id"])
    assert [each["id"] for each in (await again.command("jobs"))["jobs"]] == [done["id"]]


async def test_leaving_ends_the_jobs(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    compiler.hold()
    await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    assert editor._server is not None
    await editor.shutdown_session()
    assert await asyncio.wait_for(editor._server.wait(), 60) == 0
    assert not compiler.left()


async def test_edits_elsewhere_move_a_rewrite_and_edits_inside_make_it_stale_until_undone(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    compiler.hold()
    job = await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.edit(uri, 2, types.TextDocumentContentChangePartial(range=top, text="// one\n// two \U0001d6fc\n"))
    inside = types.Range(types.Position(job["line"] + 4, 0), types.Position(job["line"] + 4, 0))
    editor.edit(uri, 3, types.TextDocumentContentChangePartial(range=inside, text="int"))
    told = await editor.until(lambda: [each.message for each in editor.messages if "was edited" in each.message])
    assert "adjacent_kernel was edited while it is being rewritten" in told[0]
    compiler.release()
    over = await editor.job(job["id"])
    assert (over["state"], over["offer"]) == ("stale", "stale")
    with pytest.raises(JsonRpcException, match="was edited since"):
        await editor.command("applyOutcome", job["id"])
    assert editor.edits == []

    undo = types.Range(inside.start, types.Position(inside.start.line, 3))
    editor.edit(uri, 4, types.TextDocumentContentChangePartial(range=undo, text=""))
    over = await editor.job(job["id"], "done")
    assert (over["offer"], over["line"]) == ("ready", job["line"] + 2)
    before = editor.texts[uri]
    assert (await editor.command("applyOutcome", job["id"]))["applied"]
    assert editor.texts[uri].startswith("// one\n// two \U0001d6fc\n")
    assert editor.texts[uri] != before
    assert (await editor.debug(text=uri))["text"] == editor.texts[uri]


async def test_an_unsaved_text_must_be_saved_first(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler
) -> None:
    editor, uri = await started(connect, place("adjacent"), NO_BUILD)
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.edit(uri, 2, types.TextDocumentContentChangePartial(range=top, text="// more\n"))
    with pytest.raises(JsonRpcException, match="save the file first"):
        await editor.command("optimizeKernel", uri, None)
    editor.save(uri)
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert job["state"] == "done"


async def test_a_request_with_a_token_is_answered_at_the_end_and_cancelled_with_its_job(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded)
    editor.choice = YES
    params = types.ExecuteCommandParams("optimas.optimizeKernel", [uri], work_done_token=1)
    answer = await editor.workspace_execute_command_async(params)
    assert plain(answer)["proof"] == "proven"
    kinds = [type(each).__name__ for each in editor.progress_reports[1]]
    assert (kinds[0], kinds[-1]) == ("WorkDoneProgressBegin", "WorkDoneProgressEnd")
    compiler.hold()
    asked = asyncio.ensure_future(editor.protocol.send_request_async("workspace/executeCommand", params, "asked"))
    await compiler.began()
    editor.cancel_request(types.CancelParams(id="asked"))
    with pytest.raises(JsonRpcException):
        await asked
    job = await editor.until(lambda: next((each for each in editor.jobs if each["state"] == "cancelled"), None))
    assert "everything it started was ended" in job["sentence"]
    assert not compiler.left()


async def test_the_progress_bar_cancels_its_job(
    connect: Connect, place: Callable[[str], Path], compiler: Compiler, recorded: dict[str, Any]
) -> None:
    editor, uri = await started(connect, place("adjacent"), recorded, client=NEOVIM)
    editor.choice = YES
    compiler.hold()
    job = await editor.command("optimizeKernel", uri, None)
    await compiler.began()
    await editor.until(lambda: any(each[0].title == job["title"] for each in editor.progress_reports.values()))
    bars = {token: all_ for token, all_ in editor.progress_reports.items() if all_[0].title == job["title"]}
    editor.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(next(iter(bars))))
    assert (await editor.job(job["id"]))["state"] == "cancelled"
    assert not compiler.left()
