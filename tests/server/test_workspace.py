"""Folders, settings and reports come, change and go while files are open; the user always sees what holds now."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types

if TYPE_CHECKING:
    from tests.server.conftest import Connect, EditorClient

pytestmark = pytest.mark.asyncio

VSCODE, NEOVIM, OLD = "vscode_1.100.3_languageclient_11", "neovim_0.11.4", "neovim_0.7.2"
OFTEN = {"profiles": {"pollSeconds": 0.2}}


def changed(client: EditorClient, *paths: Path, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
    """Tell the server what an editor that watches files would."""
    client.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams([types.FileEvent(path.as_uri(), kind) for path in paths])
    )


def report_of(folder: Path) -> Path:
    return next(folder.glob("profile.ncu-rep*"))


async def test_a_report_that_appears_is_found_by_looking_where_nobody_watches(
    connect: Connect, place: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = place("stencil")
    aside = tmp_path / report_of(folder).name
    shutil.move(report_of(folder), aside)
    client = await connect(NEOVIM, folder, configuration=OFTEN)
    uri = client.open(folder / "stencil.cu")
    await client.settled()
    assert uri not in client.diagnostics
    shutil.move(aside, folder)
    assert await client.until(lambda: client.diagnostics.get(uri))


async def test_a_report_that_appears_is_found_by_the_editors_watching(
    connect: Connect, place: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = place("stencil")
    report = report_of(folder)
    aside = tmp_path / report.name
    shutil.move(report, aside)
    client = await connect(VSCODE, folder)
    uri = client.open(folder / "stencil.cu")
    await client.settled()
    watch = await client.until(lambda: client.registered.get("optimas-watch"))
    patterns = {watcher["globPattern"]["pattern"] for watcher in watch.register_options["watchers"]}
    assert {"optimas.toml", "**/*.ncu-rep", "**/*.ncu-repz"} <= patterns
    assert await client.squiggles(uri) == []
    before = client.refreshed["diagnostic"]
    shutil.move(aside, report)
    changed(client, report, kind=types.FileChangeType.Created)
    await client.until(lambda: client.refreshed["diagnostic"] > before)
    await client.settled()
    assert await client.squiggles(uri)


async def test_a_report_that_vanishes_takes_its_findings_along(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM, folder, configuration=OFTEN)
    uri = client.open(folder / "stencil.cu")
    await client.until(lambda: client.diagnostics.get(uri))
    report_of(folder).unlink()
    await client.until(lambda: not client.diagnostics[uri])
    known = await client.settled()
    assert known["reports"] == []
    assert any("no longer there" in message.message for message in client.log_messages)
    assert client.messages == []


async def test_a_report_that_breaks_is_told_once_and_one_that_is_mended_is_read_again(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    report = report_of(folder)
    good = report.read_bytes()
    client = await connect(NEOVIM, folder, configuration=OFTEN)
    uri = client.open(folder / "stencil.cu")
    await client.until(lambda: client.diagnostics.get(uri))
    report.write_bytes(good[: len(good) // 2])
    await client.until(lambda: not client.diagnostics[uri])
    await client.settled()
    assert len(client.messages) == 1
    assert str(report) in client.messages[0].message
    report.write_bytes(good)
    await client.until(lambda: client.diagnostics[uri])


async def test_folders_added_and_removed_bring_and_take_their_findings(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    first, second = place("stencil"), place("lookup")
    client = await connect(NEOVIM, first)
    mine, other = client.open(first / "stencil.cu"), client.open(second / "lookup.cu")
    await client.settled()
    assert client.diagnostics[mine]
    assert other not in client.diagnostics
    folder = types.WorkspaceFolder(second.as_uri(), "lookup")
    event = types.WorkspaceFoldersChangeEvent(added=[folder], removed=[])
    client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    await client.until(lambda: client.diagnostics.get(other))
    event = types.WorkspaceFoldersChangeEvent(added=[], removed=[folder])
    client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    await client.until(lambda: not client.diagnostics[other])
    assert client.diagnostics[mine]


async def test_a_file_opened_without_any_workspace_finds_the_report_beside_it(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM)
    uri = client.open(folder / "stencil.cu")
    assert await client.until(lambda: client.diagnostics.get(uri))
    assert (await client.debug())["folders"][0]["implied"]


async def test_settings_are_pulled_and_pulled_again_when_they_change(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM, folder, configuration={"diagnostics": {"maximumPerFile": 2}})
    uri = client.open(folder / "stencil.cu")
    assert len(await client.until(lambda: client.diagnostics.get(uri))) == 2
    client.set_configuration({"diagnostics": {"enable": False}}, section="optimas")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.until(lambda: not client.diagnostics[uri])
    client.set_configuration({"diagnostics": {"hints": False}}, section="optimas")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    shown = await client.until(lambda: client.diagnostics[uri])
    assert types.DiagnosticSeverity.Hint not in {each.severity for each in shown}


async def test_unknown_keys_are_named_in_one_warning_and_the_rest_holds(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect(
        NEOVIM, folder, configuration={"diagnostic": {}, "diagnostics": {"maximumPerFil": 1, "maximumPerFile": 3}}
    )
    uri = client.open(folder / "stencil.cu")
    assert len(await client.until(lambda: client.diagnostics.get(uri))) == 3
    assert len(client.messages) == 1
    assert "'diagnostic'" in client.messages[0].message
    assert "maximumPerFil'" in client.messages[0].message
    assert "did you mean" in client.messages[0].message
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.settled()
    assert len(client.messages) == 1


@pytest.mark.parametrize("wrong", [{"diagnostics": {"maximumPerFile": "many"}}, {"diagnostics": 3}, 7])
async def test_a_wrong_setting_keeps_the_last_good_ones(
    connect: Connect, place: Callable[[str], Path], wrong: Any
) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM, folder, configuration={"diagnostics": {"maximumPerFile": 2}})
    uri = client.open(folder / "stencil.cu")
    await client.until(lambda: client.diagnostics.get(uri))
    client.set_configuration(wrong, section="optimas")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.until(lambda: client.messages)
    assert "stay in force" in client.messages[0].message
    await client.settled()
    assert len(client.diagnostics[uri]) == 2


async def test_a_client_that_cannot_be_asked_may_push_its_settings(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect(OLD, folder, options={"settings": {"diagnostics": {"maximumPerFile": 1}}})
    uri = client.open(folder / "stencil.cu")
    assert len(await client.until(lambda: client.diagnostics.get(uri))) == 1
    pushed = {"optimas": {"diagnostics": {"maximum_per_file": 2}}}
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=pushed))
    await client.until(lambda: len(client.diagnostics[uri]) == 2)


async def test_the_folders_file_holds_and_the_editors_choice_wins(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    with (folder / "optimas.toml").open("a") as stream:
        stream.write("\n[diagnostics]\nmaximum_per_file = 2\n[code_lens]\nenable = false\n")
    client = await connect(NEOVIM, folder, configuration={**OFTEN, "codeLens": {"enable": True}})
    uri = client.open(folder / "stencil.cu")
    assert len(await client.until(lambda: client.diagnostics.get(uri))) == 2
    lens = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    assert await client.text_document_code_lens_async(lens)
    with (folder / "optimas.toml").open("a") as stream:
        stream.write("[inlay_hints\n")
    await client.until(lambda: client.messages)
    assert "optimas.toml" in client.messages[0].message
    assert "TOML" in client.messages[0].message
    assert len(client.diagnostics[uri]) == 2


async def test_of_several_reports_the_newest_shows_until_the_user_chooses(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("accuracy")
    basic, plain = folder / "profile-basic.ncu-rep", folder / "profile-nolineinfo.ncu-repz"
    os.utime(basic, (1_000_000_000, 1_000_000_000))
    client = await connect(OLD, folder)
    uri = client.open(folder / "accuracy.cu")
    known = await client.settled()
    shown = known["views"].get(uri, {}).get("report")
    assert shown != str(basic)
    concerned = [report["path"] for report in known["reports"] if any(each["path"] for each in report["files"])]
    client.choice = concerned[-1]
    assert await client.command("chooseReport", uri) == client.choice
    assert len(client.questions) == 1
    assert client.choice in {action.title for action in client.questions[0].actions}
    assert (await client.debug())["views"][uri]["report"] == client.choice
    assert await client.command("chooseReport", concerned[0]) == concerned[0]
    assert len(client.questions) == 1
    client.choice = None
    assert await client.command("chooseReport") is None
    assert plain.exists()


async def test_findings_can_be_hidden_for_a_file_and_for_all(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM, folder)
    one, two = client.open(folder / "stencil.cu"), client.open(folder / "derivatives.cuh")
    await client.settled()
    await client.command("hideFindings", one)
    await client.until(lambda: not client.diagnostics[one])
    assert client.diagnostics[two]
    await client.command("showFindings", one)
    await client.until(lambda: client.diagnostics[one])
    await client.command("hideFindings")
    await client.until(lambda: not client.diagnostics[one] and not client.diagnostics[two])
    lens = types.CodeLensParams(types.TextDocumentIdentifier(one))
    assert not await client.text_document_code_lens_async(lens)
    await client.command("showFindings")
    await client.until(lambda: client.diagnostics[one] and client.diagnostics[two])


async def test_reloading_reads_every_report_again(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM, folder)
    client.open(folder / "stencil.cu")
    await client.settled()
    read = [message.message for message in client.log_messages]
    await client.command("reloadReports")
    await client.settled()
    assert [message.message for message in client.log_messages] == read * 2


async def test_a_source_that_appears_after_its_report_is_mapped_when_it_is_opened(
    connect: Connect, place: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = place("stencil")
    aside = tmp_path / "stencil.cu"
    shutil.move(folder / "stencil.cu", aside)
    client = await connect(NEOVIM, folder)
    await client.settled()
    shutil.move(aside, folder)
    uri = client.open(folder / "stencil.cu")
    assert await client.until(lambda: client.diagnostics.get(uri))


async def test_cancelling_the_progress_stops_the_reading_and_the_server_says_how_to_resume(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect(NEOVIM, folder)
    uri = client.open(folder / "stencil.cu")
    steps = await client.until(lambda: [token for token, each in client.progress_reports.items() if each])
    client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=steps[0]))
    known = await client.settled()
    assert known["reports"] == []
    assert "optimas.reloadReports" in next(iter(known["failures"].values()))
    await client.command("reloadReports")
    assert await client.until(lambda: client.diagnostics.get(uri))
    assert (await client.settled())["failures"] == {}


async def test_the_client_may_take_its_time_to_answer_everything(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect(VSCODE, folder)
    slow = asyncio.Event()

    async def later(params: Any) -> None:
        await slow.wait()

    client.protocol.fm.features.pop(types.WORKSPACE_CODE_LENS_REFRESH)
    client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(later)
    client.open(folder / "stencil.cu")
    known = await client.settled()
    assert known["inFlight"] <= 3
    slow.set()
