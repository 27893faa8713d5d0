"""How an offer reads for each kind of proof and author; from a snapshot alone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from lsprotocol import types

from optimas_lsp.config import Settings, parse
from optimas_lsp.server.client import Client
from optimas_lsp.server.documents import opened
from optimas_lsp.server.features.code_actions import code_actions
from optimas_lsp.server.features.jobs import described
from optimas_lsp.server.features.offers import claim
from optimas_lsp.server.job import Job, Proven, Speedup
from optimas_lsp.server.job_board import JobBoard
from optimas_lsp.server.job_commands import JobCommands
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.job_outcome import proven as proven_by
from optimas_lsp.server.job_store import KEPT, JobStore
from optimas_lsp.server.regions import Block, Edit, standing
from optimas_lsp.server.snapshot import JobView, Snapshot, frozen
from optimas_lsp.server.wording import without_links

if TYPE_CHECKING:
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.workspace import Workspace

PATH, URI = Path("/p/a.cu"), "file:///p/a.cu"
BEFORE, AFTER = ("void k()\n", "{ a; }\n"), ("void k()\n", "{ b; }\n")
GAIN = Speedup(value=1.5, low=1.4, high=1.6)
ABLE = Client(
    action_literals=True, action_preferred=True, action_model_tag=True, document_changes=True, apply_edit=True
)


def job(**more: Any) -> Job:
    fields: dict[str, Any] = {
        "id": "1", "title": "Optimise k", "state": "done", "path": PATH, "uri": URI, "folder": PATH.parent,
        "report": PATH, "kernel": "k", "mangled": "_Z1kv", "created": "2026-01-01T00:00:00+00:00",
        "status": "candidate", "proven": Proven(state="proven", speedup=GAIN),
        "blocks": (Block(first=1, before=BEFORE, after=AFTER),),
        "edits": (Edit(first=2, before=BEFORE[1:], after=AFTER[1:]),),
    }  # fmt: skip
    return Job.model_validate(fields | more)


def snapshot(of: Job, text: str = "".join(BEFORE), settings: Settings | None = None, client: Client = ABLE) -> Snapshot:
    document = opened(URI, "cuda", 3, text)
    view = JobView(of, standing(document.text, of.blocks, [1]))
    return Snapshot(
        client=client, settings=settings or Settings(), documents=frozen({URI: document}), jobs=frozen({of.id: view})
    )


def applying(of: Snapshot) -> list[Any]:
    at = types.Range(types.Position(1, 0), types.Position(1, 0))
    context = types.CodeActionContext(diagnostics=[], only=["refactor.rewrite.optimas.apply"])
    return code_actions(of, types.CodeActionParams(types.TextDocumentIdentifier(URI), at, context))


@pytest.mark.parametrize(("by_model", "tags"), [(False, None), (True, [types.CodeActionTag.LlmGenerated])])
def test_only_what_a_model_made_is_tagged_so(by_model: bool, tags: Any) -> None:
    (action,) = applying(snapshot(job(by_model=by_model)))
    assert action.tags == tags
    assert action.is_preferred


def test_what_is_not_proven_is_not_offered_unless_that_was_chosen_and_then_it_says_so() -> None:
    unproven = job(proven=Proven(state="not-proven", sentence="it was neither run nor timed"))
    assert applying(snapshot(unproven)) == []
    built = parse({"prove": {"offer": "built"}}, where="test")
    (action,) = applying(snapshot(unproven, settings=built))
    assert action.title == "Apply the rewrite of k: not proven"
    assert not action.is_preferred
    assert claim(unproven) == "NOT PROVEN: it was neither run nor timed"
    gates = [{"name": "build", "status": "pass"}, {"name": "run", "status": "fail", "facts": {"side": "baseline"}}]
    failed = proven_by({"state": "not-proven", "sentence": "the unchanged program failed", "details": {"gates": gates}})
    assert applying(snapshot(job(proven=failed), settings=built)) == [], "a gate failed, whoever failed it"
    refuted = job(status="refuted", proven=Proven(state="refuted", sentence="slower"))
    assert applying(snapshot(refuted, settings=built)) == []


def test_a_claim_names_gain_interval_and_where_it_was_recorded() -> None:
    proven = Proven(state="proven", speedup=GAIN, recorded="recorded on NVIDIA H200, 2026-12-01")
    assert claim(job(proven=proven)) == (
        "proven: the kernel takes 1.50 times less time (95 % interval 1.40 to 1.60); "
        "recorded on NVIDIA H200, 2026-12-01, not measured now"
    )


@pytest.mark.parametrize(
    ("text", "offer", "state"),
    [
        ("".join(BEFORE), "ready", "done"),
        ("// x\n" + "".join(BEFORE), "ready", "done"),
        ("".join(AFTER), "applied", "done"),
        ("void k()\n{ a;  }\n", "stale", "stale"),
        ("void k()\r\n{ a; }\r\n", "stale", "stale"),
    ],
)
def test_the_text_alone_decides_what_an_offer_is(text: str, offer: str, state: str) -> None:
    of = snapshot(job(), text)
    told = described(of, of.jobs["1"])
    assert (told["offer"], told["state"]) == (offer, state)


def test_an_edit_is_for_the_version_it_was_made_from() -> None:
    settings = parse({"jobs": {"offer": "edit"}}, where="test")
    (action,) = applying(snapshot(job(), "// x\n" + "".join(BEFORE), settings))
    (change,) = action.edit.document_changes
    assert change.text_document.version == 3
    (edit,) = change.edits
    assert (edit.range.start.line, edit.range.end.line, edit.new_text) == (2, 3, "{ b; }\n")
    plain = Client(action_literals=True)
    (action,) = applying(snapshot(job(), settings=settings, client=plain))
    assert list(action.edit.changes) == [URI]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("settled", "looking", "words"),
    [(True, False, "profile the program"), (False, False, "still being read"), (True, True, "still being read")],
)
async def test_what_is_asked_for_before_the_reports_are_read_is_not_called_unprofiled(
    settled: bool, looking: bool, words: str
) -> None:
    ready = asyncio.Event()
    ready.set()
    session = SimpleNamespace(ready=ready, snapshot=Snapshot(), settled=settled)
    commands = JobCommands(cast("Session", session), cast("Workspace", SimpleNamespace(looking=looking)))
    with pytest.raises(JobError, match=words):
        await commands.target("file:///p/a.cu")


@pytest.mark.asyncio
async def test_of_the_jobs_of_one_folder_no_more_stay_in_memory_than_on_disk(tmp_path: Path) -> None:
    async def run(work: Any, *arguments: Any) -> Any:
        return work(*arguments)

    tasks: list[asyncio.Future[None]] = []

    def spawn(work: Coroutine[Any, Any, None]) -> None:
        tasks.append(asyncio.ensure_future(work))

    session = SimpleNamespace(
        on_text=[], snapshot=Snapshot(), editor=SimpleNamespace(jobs=False), spawn=spawn, show_all_again=lambda: None,
        background=SimpleNamespace(run=run),
    )  # fmt: skip
    board = JobBoard(cast("Session", session), JobStore(tmp_path))
    made = [job(id=f"{at:08x}", created=f"2026-01-01T00:{at:02}:00+00:00") for at in range(KEPT + 3)]
    live = made[0].model_copy(update={"state": "running"})
    other = made[1].model_copy(update={"folder": tmp_path})
    board.jobs = {each.id: each for each in (live, other, *made[2:])}
    board.drop_old(made[-1].folder)
    await asyncio.gather(*tasks)
    assert set(board.jobs) == {live.id, other.id, *(each.id for each in made[-KEPT:])}


def test_no_name_becomes_a_link_that_runs_a_command() -> None:
    evil = "[Apply](command:workbench.action.terminal.new)"
    proven = Proven(state="proven", recorded=evil)
    of = snapshot(job(title=f"Optimise {evil}", kernel=evil, sentence=evil, words=evil, proven=proven))
    told = described(of, of.jobs["1"])
    for key in ("title", "kernel", "sentence", "words", "recorded"):
        assert "](command:" not in told[key]
        assert "[Apply] (command:" in told[key]
    assert without_links("a[i](j) and [](int x) stay") == "a[i](j) and [](int x) stay"
