"""A proven rewrite in three editors: offered, applied, checked, undone; never applied where it does not fit."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from tests.server.conftest import EditorClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

VSCODE, NEOVIM, OLD_NEOVIM = "vscode_1.100.3_languageclient_11", "neovim_0.11.4", "neovim_0.7.2"
KERNEL = "_Z15adjacent_kernelPKiPixx"


class Case:
    """One editor with the adjacent sample open and a rewrite of its kernel that was proven."""

    def __init__(self, editor: EditorClient, folder: Path, job: str) -> None:
        self.editor, self.job = editor, job
        self.file = folder / "adjacent.cu"
        self.text = self.file.read_bytes().decode()
        self.uri = self.file.as_uri()
        self.line = next(at for at, line in enumerate(self.text.split("\n")) if line.startswith("__global__"))

    async def settings(self, **more: Any) -> None:
        """Other settings, beside the recorded proofs."""
        wanted = {"optimas": {**self.base, **more}}
        self.editor.set_configuration(wanted)
        self.editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=wanted))
        while (await self.editor.debug())["settings"]["jobs"] != {**self.jobs, **more.get("jobs", {})}:
            self.editor.news.clear()

    base: dict[str, Any]
    jobs: dict[str, Any]

    async def offered(self) -> list[Any]:
        """The actions that apply a rewrite, on the line of the kernel."""
        found = await self.editor.actions(self.uri, self.line, only=["refactor.rewrite.optimas.apply"])
        return list(found)


@pytest.fixture(scope="module", params=[VSCODE, NEOVIM, OLD_NEOVIM])
def place(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    sample_into: Callable[[Path, str], Path],
) -> tuple[str, Path, Path]:
    """A client, a folder for it and the sample in it; a script that writes what it is told to write stands for nvcc."""
    home = tmp_path_factory.mktemp(request.param)
    (home / "bin").mkdir()
    script = home / "bin" / "nvcc"
    loop = 'for word; do [ "$keep" ] && : >"$word"; keep=; [ "$word" = -o ] && keep=1; done'
    script.write_text(f"#!/bin/sh\n{loop}\nexit 0\n")
    script.chmod(0o755)
    return request.param, home, sample_into(home, "adjacent")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def whole(
    place: tuple[str, Path, Path],
    samples: Path,
    start_editor: Callable[..., Any],
    stop_editor: Callable[..., Any],
) -> AsyncIterator[Case]:
    client, home, folder = place
    settings = {"prove": {"executor": "recorded", "records": str(samples)}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("OPTIMAS_STATE_DIR", str(home / "state"))
        patch.setenv("OPTIMAS_DATA_DIR", str(home / "data"))
        editor = await start_editor(
            client, folder, configuration=settings, options={"jobs": True, "settings": settings}
        )
    editor.choice = "Accept for this folder"
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    job = await editor.job((await editor.command("optimizeKernel", uri, None))["id"])
    assert job["proof"] == "proven", job["sentence"]
    case = Case(editor, folder, job["id"])
    case.base, case.jobs = settings, (await editor.debug())["settings"]["jobs"]
    yield case
    await stop_editor(editor)


@pytest_asyncio.fixture(loop_scope="module")
async def case(whole: Case) -> AsyncIterator[Case]:
    """The same, with the text as it was and no edit seen."""
    editor = whole.editor
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(whole.uri)))
    whole.file.write_bytes(whole.text.encode())
    editor.open(whole.file)
    editor.edits.clear()
    editor.messages.clear()
    editor.on_edit = "apply"
    await editor.job(whole.job, "done")
    await _squiggles(whole, bool)
    yield whole


async def test_the_offer_says_what_is_known_and_where_it_comes_from(case: Case) -> None:
    (action,) = await case.offered()
    assert re.match(r"Apply the rewrite of adjacent_kernel: proven 3\.9\d×", action.title)
    assert "recorded elsewhere" in action.title
    assert action.kind == "refactor.rewrite.optimas.apply"
    assert action.command.command == "optimas.applyOutcome"
    assert action.edit is None
    assert action.tags is None  # the catalogue made it, no model


async def test_applying_is_checked_undone_and_gives_the_exact_text_back(case: Case) -> None:
    editor = case.editor
    before = [(each.range.start.line, each.code) for each in await editor.squiggles(case.uri)]
    answer = await editor.command("applyOutcome", case.job)
    assert answer["applied"]
    assert "recorded on NVIDIA H200" in answer["sentence"]
    outcome = await editor.command("outcome", case.job)
    assert outcome["job"]["offer"] == "applied"
    assert editor.texts[case.uri] != case.text
    assert (await editor.debug(text=case.uri))["text"] == editor.texts[case.uri]
    (edit,) = editor.edits
    (change,) = edit.edit.document_changes
    assert change.text_document.version == 1

    found = await _squiggles(case, lambda each: any(one.code == "changed" for one in each))
    (changed,) = [each for each in found if each.code == "changed"]
    assert "changed, not yet profiled again" in changed.message
    assert changed.range.start.line == case.line
    assert not [each for each in found if each.code == "long_scoreboard"]
    titles = [each.title for each in await editor.actions(case.uri, case.line)]
    assert "Profile adjacent_kernel again: it was rewritten" in titles
    assert (await editor.command("applyOutcome", case.job))["sentence"].endswith("is rewritten already")

    whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
    editor.edit(case.uri, 9, types.TextDocumentContentChangePartial(range=whole, text=case.text))
    await editor.job(case.job, "done")
    found = await _squiggles(case, lambda each: len(each) == len(before))
    assert [(each.range.start.line, each.code) for each in found] == before
    assert len(await case.offered()) == 1


async def _squiggles(case: Case, good: Callable[[list[types.Diagnostic]], bool]) -> list[types.Diagnostic]:
    while not good(found := await case.editor.squiggles(case.uri)):
        case.editor.news.clear()
        await case.editor.debug()
    return found


async def test_a_refused_edit_is_said_and_nothing_is_claimed(case: Case) -> None:
    case.editor.on_edit = "refuse"
    answer = await case.editor.command("applyOutcome", case.job)
    assert not answer["applied"]
    assert answer["sentence"] == "the editor refused the edit: the file was changed; nothing was changed"
    assert case.editor.texts[case.uri] == case.text
    assert len(await case.offered()) == 1


async def test_an_edit_that_was_skipped_though_the_client_says_it_applied_it_is_noticed(case: Case) -> None:
    case.editor.on_edit = "skip"
    answer = await case.editor.command("applyOutcome", case.job)
    assert not answer["applied"]
    assert "the text is as before: it skipped the edit" in answer["sentence"]
    assert case.editor.messages[-1].type == types.MessageType.Warning
    assert len(await case.offered()) == 1


async def test_an_editor_that_does_something_else_is_not_believed(case: Case) -> None:
    editor = case.editor

    def otherwise(_: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        inside = types.Position(case.line + 2, 0)
        change = types.TextDocumentContentChangePartial(range=types.Range(inside, inside), text="int")
        editor.edit(case.uri, editor.versions[case.uri] + 1, change)
        return types.ApplyWorkspaceEditResult(applied=False, failure_reason="half\x1b[2J")

    kept = editor.protocol.fm.features.pop(types.WORKSPACE_APPLY_EDIT)
    editor.feature(types.WORKSPACE_APPLY_EDIT)(otherwise)
    answer = await editor.command("applyOutcome", case.job)
    editor.protocol.fm.features[types.WORKSPACE_APPLY_EDIT] = kept
    assert not answer["applied"]
    assert answer["sentence"] == "adjacent_kernel is neither as before nor as rewritten now: undo, then try again"


async def test_while_the_editor_waits_for_its_user_a_second_wish_is_answered(case: Case) -> None:
    editor, shown, decided = case.editor, asyncio.Event(), asyncio.Event()
    await case.settings(jobs={"confirm": True})

    async def preview(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        shown.set()
        await decided.wait()
        editor.take(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    kept = editor.protocol.fm.features.pop(types.WORKSPACE_APPLY_EDIT)
    editor.feature(types.WORKSPACE_APPLY_EDIT)(preview)
    first = asyncio.ensure_future(editor.command("applyOutcome", case.job))
    await shown.wait()
    with pytest.raises(JsonRpcException, match="still waits for your answer in the editor"):
        await editor.command("applyOutcome", case.job)
    decided.set()
    assert (await first)["applied"]
    editor.protocol.fm.features[types.WORKSPACE_APPLY_EDIT] = kept
    await case.settings()


async def test_a_stale_offer_is_disabled_with_its_reason_or_left_out(case: Case) -> None:
    inside = types.Position(case.line + 2, 0)
    change = types.TextDocumentContentChangePartial(range=types.Range(inside, inside), text="/**/")
    case.editor.edit(case.uri, 2, change)
    await case.editor.job(case.job, "stale")
    offered = await case.offered()
    if (await case.editor.debug())["client"]["action_disabled"]:
        assert "edited since" in offered[0].disabled.reason
        assert offered[0].command is None
    else:
        assert offered == []
    with pytest.raises(JsonRpcException, match="edited since"):
        await case.editor.command("applyOutcome", case.job)


async def test_the_action_may_carry_the_edit_itself_for_the_text_as_it_is(case: Case) -> None:
    editor = case.editor
    await case.settings(jobs={"offer": "edit"})
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.edit(case.uri, 2, types.TextDocumentContentChangePartial(range=top, text="// \U0001d6fc\n\n"))
    case.line += 2
    (action,) = await case.offered()
    case.line -= 2
    assert action.command is None
    editor.take(action.edit)
    assert editor.texts[case.uri].startswith("// \U0001d6fc\n\n")
    assert (await editor.command("outcome", case.job))["job"]["offer"] == "applied"
    assert editor.texts[case.uri].count("#pragma unroll") == 1
    await case.settings()


async def test_the_edit_is_annotated_and_confirmed_where_the_client_can(case: Case) -> None:
    await case.settings(jobs={"confirm": True})
    assert (await case.editor.command("applyOutcome", case.job))["applied"]
    (edit,) = [each.edit for each in case.editor.edits]
    if (await case.editor.debug())["client"]["change_annotations"]:
        (annotation,) = edit.change_annotations.values()
        assert annotation.needs_confirmation
        assert "recorded on NVIDIA H200" in annotation.description
    else:
        assert edit.change_annotations is None
    await case.settings()


async def test_a_text_with_other_line_ends_is_not_what_was_proven(case: Case) -> None:
    whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
    text = case.text.replace("\n", "\r\n")
    case.editor.edit(case.uri, 2, types.TextDocumentContentChangePartial(range=whole, text=text))
    await case.editor.job(case.job, "stale")


async def test_a_closed_file_is_shown_before_it_is_changed_or_nothing_is_done(case: Case) -> None:
    editor = case.editor
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(case.uri)))
    shows = (await editor.debug())["client"]["show_document"]
    if not shows:
        with pytest.raises(JsonRpcException, match="the file is not open"):
            await editor.command("applyOutcome", case.job)
        return

    def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        editor.open(Path(params.uri.removeprefix("file://")))
        return types.ShowDocumentResult(success=True)

    kept = editor.protocol.fm.features.pop(types.WINDOW_SHOW_DOCUMENT)
    editor.feature(types.WINDOW_SHOW_DOCUMENT)(show)
    assert (await editor.command("applyOutcome", case.job))["applied"]
    editor.protocol.fm.features.pop(types.WINDOW_SHOW_DOCUMENT)
    editor.protocol.fm.features[types.WINDOW_SHOW_DOCUMENT] = kept
