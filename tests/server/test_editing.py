"""Edits of any kind leave the server's text the client's, and every finding on the line whose text was measured."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

if TYPE_CHECKING:
    from tests.server.conftest import EditorClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

BLANKS = " \t\f\v"
PIECES = [
    "x",
    "\n",
    "\r\n",
    "\r",
    "\f",
    "\t",
    "é",
    "𝛼",
    "\u2028",
    "\x85",
    "\x0b",
    "\u0301",
    "",
    "  ",
    "}",
    "// a\n// b\n",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_into: Callable[[Path, str], Path]) -> Path:
    return sample_into(tmp_path_factory.mktemp("editing"), "stencil")


@pytest.fixture(scope="module")
def original(folder: Path) -> str:
    return (folder / "derivatives.cuh").read_bytes().decode()


@pytest.fixture(scope="module")
def stencil(folder: Path) -> str:
    return (folder / "stencil.cu").read_bytes().decode()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["utf-8", "utf-16", "utf-32"])
async def editor(
    request: pytest.FixtureRequest, folder: Path, start_editor: Callable[..., Any], stop_editor: Callable[..., Any]
) -> AsyncIterator[EditorClient]:
    client = await start_editor("neovim_0.11.4", folder, encodings=[request.param])
    assert client.server_capabilities.position_encoding == request.param
    await client.settled()
    yield client
    await stop_editor(client)


@dataclass
class Model:
    """A text as an editor keeps it: one string, edited by offsets, described in the client's units."""

    text: str
    encoding: str

    def starts(self) -> list[int]:
        """The offset of every line's first character, as LSP counts lines."""
        found, index = [0], 0
        while index < len(self.text):
            char = self.text[index]
            index += 2 if self.text.startswith("\r\n", index) else 1
            if char in "\r\n":
                found.append(index)
        return found

    def position(self, offset: int) -> types.Position:
        """Where an offset is, in lines and units."""
        starts = self.starts()
        line = max(number for number, start in enumerate(starts) if start <= offset)
        head = self.text[starts[line] : offset]
        units = {
            "utf-8": len(head.encode()),
            "utf-16": len(head.encode("utf-16-le")) // 2,
            "utf-32": len(head),
        }
        return types.Position(line, units[self.encoding])

    def replace(self, start: int, end: int, piece: str) -> types.TextDocumentContentChangePartial:
        """Edit, and describe the edit as the client would."""
        span = types.Range(self.position(start), self.position(end))
        self.text = self.text[:start] + piece + self.text[end:]
        return types.TextDocumentContentChangePartial(range=span, text=piece)


Edit = tuple[float, int, str]
EDITS = st.lists(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 1, 2, 7, 60, 900]), st.sampled_from(PIECES)),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=8,
)


def whole(offset: int, text: str) -> int:
    """An offset that does not fall between the two characters of one line end, where no editor has a position."""
    return offset - 1 if 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n" else offset


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(batches=EDITS)
async def test_random_edits_keep_text_and_findings(
    editor: EditorClient, folder: Path, original: str, batches: list[list[Edit]]
) -> None:
    model = Model(original, editor.server_capabilities.position_encoding)
    uri = editor.open(folder / "derivatives.cuh", original)
    for version, batch in enumerate(batches, 2):
        changes = []
        for place, length, piece in batch:
            start = whole(round(place * len(model.text)), model.text)
            end = max(start, whole(min(start + length, len(model.text)), model.text))
            changes.append(model.replace(start, end, piece))
        editor.edit(uri, version, *changes)
    known = await editor.debug(text=uri)
    assert known["text"] == model.text
    measured, today = _lines(original), _lines(model.text)
    for line, profiled, _ in known["views"][uri]["findings"]:
        assert today[line - 1].rstrip(BLANKS) == measured[profiled - 1].rstrip(BLANKS)
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


async def test_a_whole_text_and_ranges_past_every_end_are_clamped(editor: EditorClient, folder: Path) -> None:
    path = folder / "clamp.cu"
    uri = editor.open(path, "ab\r\ncd")
    far = types.Position(99, 99)
    editor.edit(uri, 2, types.TextDocumentContentChangePartial(range=types.Range(types.Position(0, 99), far), text="X"))
    assert (await editor.debug(text=uri))["text"] == "abX"
    editor.edit(uri, 3, types.TextDocumentContentChangePartial(range=types.Range(far, far), text="\nend"))
    editor.edit(uri, 4, types.TextDocumentContentChangePartial(range=types.Range(far, far), text="!"))
    assert (await editor.debug(text=uri))["text"] == "abX\nend!"
    editor.edit(uri, 5, types.TextDocumentContentChangeWholeDocument(text="𝛼\f\u2028b\n"))
    assert (await editor.debug(text=uri))["documents"][uri] == {"version": 5, "language": "cuda", "lines": 2}
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))


async def test_a_line_that_changes_loses_its_finding_and_undo_brings_it_back(
    editor: EditorClient, folder: Path
) -> None:
    path = folder / "stencil.cu"
    uri = editor.open(path)
    before = await editor.until(lambda: editor.diagnostics.get(uri))
    hot = before[0].range
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.edit(uri, 2, types.TextDocumentContentChangePartial(range=start, text="// moved\n"))
    moved = await editor.until(lambda: editor.diagnostics[uri] is not before and editor.diagnostics[uri])
    assert [each.range.start.line for each in moved] == [each.range.start.line + 1 for each in before]
    below = types.Position(hot.end.line + 1, hot.end.character)
    at = types.Range(below, below)
    editor.edit(uri, 3, types.TextDocumentContentChangePartial(range=at, text=" + 0"))
    touched = await editor.until(lambda: editor.diagnostics[uri] is not moved and editor.diagnostics[uri])
    assert hot.start.line + 1 not in {each.range.start.line for each in touched}
    view = (await editor.debug())["views"][uri]
    assert view["stale"]
    assert view["lost"] == len(before) - len(touched)
    lenses = await editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    assert "changed since profiling" in lenses[0].command.title
    end = types.Position(at.end.line, at.end.character + 4)
    editor.edit(uri, 4, types.TextDocumentContentChangePartial(range=types.Range(at.start, end), text=""))
    back = await editor.until(lambda: editor.diagnostics[uri] is not touched and editor.diagnostics[uri])
    assert back == moved
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
async def test_line_ends_do_not_count_as_changes(editor: EditorClient, folder: Path, stencil: str, end: str) -> None:
    path = folder / "stencil.cu"
    text = stencil.replace("\n", end)
    uri = editor.open(path, text)
    await editor.until(lambda: editor.diagnostics.get(uri))
    view = (await editor.debug())["views"][uri]
    assert not view["stale"]
    assert view["lost"] == 0
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    await editor.until(lambda: not editor.diagnostics[uri])


async def test_a_text_of_20_000_lines_is_compared_off_the_loop_while_edits_arrive(
    editor: EditorClient, folder: Path, stencil: str
) -> None:
    path = folder / "stencil.cu"
    rng = random.Random(7)
    filler = "".join(f"// filler {rng.random()}\n" for _ in range(10_000))
    model = Model(filler + stencil + filler, editor.server_capabilities.position_encoding)
    uri = editor.open(path, model.text)
    for version in range(2, 12):
        editor.edit(uri, version, model.replace(0, 0, f"// {version}\n"))
        await asyncio.sleep(0)
    await editor.until(lambda: editor.diagnostics.get(uri))
    known = await editor.settled()
    findings = known["views"][uri]["findings"]
    assert {line - profiled for line, profiled, _ in findings} == {10_010}
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
