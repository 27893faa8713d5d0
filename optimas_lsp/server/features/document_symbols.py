"""textDocument/documentSymbol: the profiled kernels of a file, nested or flat as the client likes."""

from __future__ import annotations

from lsprotocol import types

from optimas_lsp.server import wording
from optimas_lsp.server.positions import code_range, name_range
from optimas_lsp.server.snapshot import Snapshot


def document_symbols(
    snapshot: Snapshot, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
    """One function symbol a kernel; its detail is the share of GPU time."""
    view = snapshot.view(params.text_document.uri)
    if view is None:
        return []
    text, encoding = view.document.text, snapshot.client.encoding
    if not snapshot.client.hierarchical_symbols:
        return [
            types.SymbolInformation(
                location=types.Location(view.document.uri, code_range(text, line, encoding)),
                name=wording.one_line(kernel.base_name) or "kernel",
                kind=types.SymbolKind.Function,
            )
            for line, kernel in view.kernels
        ]
    return [
        types.DocumentSymbol(
            name=wording.one_line(kernel.base_name) or "kernel",
            detail=wording.kernel_line(kernel),
            kind=types.SymbolKind.Function,
            range=code_range(text, line, encoding),
            selection_range=name_range(text, line, kernel.base_name, encoding),
        )
        for line, kernel in view.kernels
    ]
