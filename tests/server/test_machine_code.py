"""Machine code in the editor: whole, with the lines of today, and as a document where the client shows one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp.profile.store import distil_to
from optimas_lsp.server import own_process

if TYPE_CHECKING:
    from tests.server.conftest import Connect

pytestmark = pytest.mark.asyncio

VSCODE, OLD = "vscode_1.100.3_languageclient_11", "neovim_0.7.2"


async def test_the_lines_with_code_are_told_as_they_stand_in_the_open_text(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("adjacent")
    editor = await connect(VSCODE, folder)
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    found = await editor.command("machineCode", uri)
    assert found["schema"] == "optimas.sass/1"
    assert found["kernel"].startswith("adjacent_kernel")
    [source] = [each for each in found["sources"] if each["uri"] == uri]
    lines = dict(source["lines"])
    assert lines[35] == 35
    assert {place[1] for row in found["rows"] for place in row["places"]} == set(lines)

    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.edit(uri, 2, types.TextDocumentContentChangePartial(range=start, text="// one\n// two\n"))
    moved = await editor.command("machineCode", uri, found["mangled"])
    [source] = [each for each in moved["sources"] if each["uri"] == uri]
    assert dict(source["lines"])[35] == 37
    assert moved["rows"] == found["rows"]


@pytest.mark.parametrize("client", [VSCODE, OLD])
async def test_a_line_is_shown_as_a_document_or_told_where_it_is(
    connect: Connect, place: Callable[[str], Path], client: str
) -> None:
    folder = place("adjacent")
    editor = await connect(client, folder)
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    whole = await editor.command("openMachineCode", uri)
    part = await editor.command("openMachineCode", uri, None, 35)
    assert 0 < len(part.splitlines()) < len(whole.splitlines())
    if (await editor.debug())["client"]["show_document"]:
        assert [each.uri.endswith(".sass") for each in editor.shown_documents] == [True, True]
    else:
        await editor.until(lambda: sum("The text is at" in each.message for each in editor.messages) == 2)


async def test_a_line_without_code_and_a_wrong_line_are_said(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("adjacent")
    editor = await connect(VSCODE, folder)
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    with pytest.raises(JsonRpcException, match="has no instruction of"):
        await editor.command("openMachineCode", uri, None, 1)
    for wrong in (0, -3, "35", 1.5, True, {"line": 3}):
        with pytest.raises(JsonRpcException, match="the third argument is a line"):
            await editor.command("openMachineCode", uri, None, wrong)


async def test_names_that_look_like_the_data_itself_come_through_whole(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("adjacent")
    [report] = folder.glob("profile.ncu-rep*")
    distil_to(report, folder / "p.optimas.json", cache_dir=folder.parent / "cache")
    report.unlink()
    data = json.loads((folder / "p.optimas.json").read_text("utf-8"))
    like = '","rows":[{"\x1b\u202e'
    data["kernels"][0]["code"]["sass"][0] = like
    data["report_name"] = data["device"]["name"] = like
    data["files"].insert(0, {"path": f"/gone/{like}.cu"})
    for chain in data["kernels"][0]["code"]["chains"]:
        for frame in chain:
            frame["file"] += 1
    (folder / "p.optimas.json").write_text(json.dumps(data), "utf-8")
    editor = await connect(VSCODE, folder)
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    found = await editor.command("machineCode", uri)
    assert (found["report"], found["rows"][0]["sass"]) == (like, like)
    assert found["files"][0] == f"/gone/{like}.cu"
    assert [each["uri"] for each in found["sources"]] == [None, uri]
    assert all(each["text"].isprintable() for each in found["listing"])
    assert await editor.command("machineCode", uri) == found


async def test_of_a_process_no_more_is_taken_than_asked_for_and_its_last_complaint_is_kept() -> None:
    said = "import sys; print(sys.stdin.read() * 3, end=''); print('a' * 600_000 + '\\nlast', file=sys.stderr); exit(3)"
    done = await own_process.run(["-c", said], b"word")
    assert (done.status, done.output, done.complaint) == (3, b"wordwordword", "last")
    with pytest.raises(own_process.TooLongError, match="more than 1 MB"):
        await own_process.run(["-c", "while True: print('a' * 1000)"], limit=1 << 20)
    assert (await own_process.run(["-c", "import os; os.close(0)"], b"a" * 10_000_000)).status == 0
