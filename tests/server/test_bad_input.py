"""Reports and folders that nobody should have to meet: each gets a sentence, and the server answers on."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

from optimas_lsp.server.locations import path_of, same_place, uri_of
from optimas_lsp.server.reports import compile_glob, search

if TYPE_CHECKING:
    from tests.server.conftest import Connect

NEOVIM = "neovim_0.11.4"
PATTERNS, EXCLUDE = ("**/*.ncu-rep",), ("**/.git/**",)


@pytest.mark.asyncio
async def test_broken_reports_each_get_a_sentence_and_good_ones_still_show(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    good = next(folder.glob("profile.ncu-rep*")).read_bytes()
    broken = {
        "empty.ncu-rep": b"",
        "cut.ncu-repz": good[:3000],
        "noise.ncu-rep": random.Random(1).randbytes(5000),
        "text.ncu-rep": b"hello",
        "not.optimas.json": b"[1, 2",
        "other.optimas.json": b'{"schema_version": "other"}',
    }
    for name, content in broken.items():
        (folder / name).write_bytes(content)
    client = await connect(NEOVIM, folder)
    uri = client.open(folder / "stencil.cu")
    known = await client.settled()
    assert {Path(path).name for path in known["failures"]} == set(broken)
    for path, sentence in known["failures"].items():
        assert sentence.startswith(path)
        assert "; " in sentence
    assert client.diagnostics[uri]
    assert {message.type for message in client.messages} == {types.MessageType.Warning}


@pytest.mark.asyncio
async def test_a_report_without_sources_here_is_read_and_shows_nothing(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    for source in (*folder.glob("*.cu"), *folder.glob("*.cuh")):
        source.unlink()
    client = await connect(NEOVIM, folder)
    known = await client.settled()
    files = known["reports"][0]["files"]
    assert files
    assert all(each["path"] is None and each["why"] for each in files)
    assert len(client.messages) == 1
    assert "none of its source files was found" in client.messages[0].message


@pytest.mark.asyncio
async def test_a_report_without_line_information_says_why_nothing_shows(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("accuracy")
    for report in folder.glob("*.ncu-rep*"):
        if "nolineinfo" not in report.name:
            report.unlink()
    client = await connect(NEOVIM, folder)
    known = await client.settled()
    notes = " ".join(known["reports"][0]["notes"])
    assert "-lineinfo" in notes
    assert len(client.messages) == 1
    assert "nothing can be shown" in client.messages[0].message
    assert "-lineinfo" in client.messages[0].message


@pytest.mark.asyncio
async def test_hostile_folders_and_names_are_lived_with(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("stencil")
    (folder / "loop").symlink_to(folder)
    (folder / "gone").symlink_to(folder / "nowhere")
    (folder / "self.ncu-rep").symlink_to(folder / "self.ncu-rep")
    odd = os.fsdecode(b"caf\xe9 %41 \xff.ncu-rep")
    (folder / odd).write_bytes(b"not a report")
    (folder / "folder.ncu-rep").mkdir()
    client = await connect(NEOVIM, folder)
    uri = client.open(folder / "stencil.cu")
    known = await client.settled()
    assert client.diagnostics[uri]
    assert len(known["reports"]) == 1
    assert len(known["failures"]) == 1


STRANGE = (
    "untitled:Untitled-1",
    "file:///a/%00b.cu",
    "file://server/share/x.cu",
    "file:",
    "",
    "::",
    "file:///%zz%ff.cu",
    "vscode-notebook-cell:/a.py#W0",
    "file:///a/../../../b.cu",
)


@pytest.mark.asyncio
async def test_documents_with_strange_addresses_are_kept_like_any_other(connect: Connect) -> None:
    client = await connect(NEOVIM)
    await client.settled()
    end = types.Position(0, 6)
    for uri in STRANGE:
        item = types.TextDocumentItem(uri=uri, language_id="cuda", version=1, text="int x;\n")
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        client.edit(uri, 2, types.TextDocumentContentChangePartial(range=types.Range(end, end), text=" // é"))
        assert (await client.debug(text=uri))["text"] == "int x; // é\n"
        hover = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))
        assert await client.text_document_hover_async(hover) is None


@pytest.mark.asyncio
async def test_requests_about_documents_that_are_not_open_have_empty_answers(connect: Connect) -> None:
    client = await connect(NEOVIM)
    document = types.TextDocumentIdentifier("file:///not/open.cu")
    assert await client.text_document_hover_async(types.HoverParams(document, types.Position(0, 0))) is None
    assert not await client.text_document_code_lens_async(types.CodeLensParams(document))
    start = types.Position(0, 0)
    assert not await client.text_document_inlay_hint_async(types.InlayHintParams(document, types.Range(start, start)))
    assert not await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    client.edit("file:///not/open.cu", 3, types.TextDocumentContentChangeWholeDocument(text="x"))
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    assert (await client.debug())["documents"] == {}


@pytest.mark.parametrize(
    "name", [b"plain.cu", b"caf\xc3\xa9.cu", b"caf\xe9\xff.cu", b"a b%20#?.cu", b"\xf0\x9d\x9b\xbc"]
)
def test_every_path_survives_its_way_through_a_uri(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    uri = uri_of(path)
    assert uri.isascii()
    assert path_of(uri) == path


def test_a_loop_of_links_has_a_place_all_the_same(tmp_path: Path) -> None:
    loop = tmp_path / "a"
    loop.symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(loop)
    assert same_place(loop).parent == tmp_path


def test_searching_follows_no_links_and_enters_no_excluded_folder(tmp_path: Path) -> None:
    for folder in ("a/b", ".git/x", "c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "r.ncu-rep").write_bytes(b"1")
    (tmp_path / "c" / "up").symlink_to(tmp_path)
    found = search(tmp_path, PATTERNS, EXCLUDE)
    assert set(found.reports) == {tmp_path / "a/b/r.ncu-rep", tmp_path / "c/r.ncu-rep"}
    assert not found.cut_short
    assert search(tmp_path / "missing", PATTERNS, EXCLUDE).reports == {}


def test_an_absolute_pattern_names_one_report_anywhere(tmp_path: Path) -> None:
    report = tmp_path / "elsewhere.ncu-rep"
    report.write_bytes(b"1")
    (tmp_path / "w").mkdir()
    assert set(search(tmp_path / "w", [str(report)], ()).reports) == {report}


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*.ncu-rep", "a.ncu-rep", True),
        ("**/*.ncu-rep", "x/y/a.ncu-rep", True),
        ("*.ncu-rep", "x/a.ncu-rep", False),
        ("runs/*/p?.{ncu-rep,optimas.json}", "runs/1/p2.optimas.json", True),
        ("runs/*/p?.{ncu-rep,optimas.json}", "runs/1/2/p2.ncu-rep", False),
        ("**/.git/**", "x/.git/", True),
        ("**/.git/**", ".github/", False),
        ("[a].ncu-rep", "[a].ncu-rep", True),
        ("{broken", "{broken", True),
        ("{{a,b},c}.x", "b.x", True),
        ("{{a}.x", "{a.x", True),
        ("a}.x", "a}.x", True),
        ("**", "x/y.z", True),
        ("a/**", "a/x/y", True),
        ("a/**", "b/x", False),
        ("a/**/b/**/c*d", "a/x/b/b/y/cd", True),
        ("a/**/b/**/c*d", "a/b/cxd", True),
        ("a/**/b/**/c*d", "a/c/b/d", False),
        ("**/**/x", "x", True),
        ("*a*b", "aab", True),
        ("*ab*ab", "abab", True),
        ("*ab*ab", "ab", False),
    ],
)
def test_glob_patterns_mean_what_they_mean_in_editors(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).fullmatch(path)) is matches


@pytest.mark.parametrize(
    "pattern", ["**/" + "*a" * 40 + "b", "**/a/" * 40 + "b", "{" * 300, "{a,b}" * 40, "*" * 500 + "b"]
)
def test_no_pattern_takes_long_to_match(pattern: str) -> None:
    began = time.process_time()
    compile_glob(pattern).fullmatch("a/" * 60 + "a" * 200)
    assert time.process_time() - began < 1
