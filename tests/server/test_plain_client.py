"""A client that mentions no ability at all still gets everything, in its plainest form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

if TYPE_CHECKING:
    from tests.server.conftest import Connect

pytestmark = [pytest.mark.asyncio, pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")]


async def test_findings_hovers_lenses_and_symbols_are_plain(connect: Connect, place: Callable[[str], Path]) -> None:
    folder = place("stencil")
    client = await connect(None, folder)
    uri = client.open(folder / "stencil.cu")
    diagnostics = await client.until(lambda: client.diagnostics.get(uri))
    assert all(
        each.related_information is None and each.code_description is None and each.data is None for each in diagnostics
    )
    document = types.TextDocumentIdentifier(uri)
    sampled = next(each for each in diagnostics if each.code == "wait")
    hover = await client.text_document_hover_async(types.HoverParams(document, sampled.range.start))
    assert hover.contents.kind == "plaintext"
    assert "wait" in hover.contents.value
    assert "**" not in hover.contents.value
    assert "| ---" not in hover.contents.value
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert {type(each) for each in symbols} == {types.SymbolInformation}
    assert {each.name for each in symbols} == {"update"}
    assert await client.text_document_code_lens_async(types.CodeLensParams(document))
    known = await client.debug()
    assert known["progressTokens"] == 0
    assert client.refreshed == {}
    assert client.progress_reports == {}
