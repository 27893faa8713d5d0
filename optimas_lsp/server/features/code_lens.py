"""textDocument/codeLens: above each profiled kernel what it costs and what bounds it, and the way to the report."""

from __future__ import annotations

from lsprotocol import types

from optimas_lsp.server import wording
from optimas_lsp.server.names import OPEN_KERNEL, OPEN_REPORT
from optimas_lsp.server.positions import name_range
from optimas_lsp.server.snapshot import Snapshot


def code_lens(snapshot: Snapshot, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Two lenses a kernel defined in the document, also where its definition changed since profiling."""
    view = snapshot.view(params.text_document.uri)
    settings = None if view is None else snapshot.settings_for(view.document.path)
    if view is None or settings is None or not settings.code_lens.enable:
        return []
    stale = f" · {wording.stale_note(view)}" if view.stale else ""
    names = [kernel.base_name for _, kernel in view.kernels]
    lenses: list[types.CodeLens] = []
    for line, kernel in view.kernels:
        name = f"{wording.without_parameters(kernel.name)}: " if names.count(kernel.base_name) > 1 else ""
        title = f"{wording.one_line(name)}{wording.kernel_line(kernel)}{stale}"
        command = types.Command(title=title, command=OPEN_KERNEL, arguments=[view.document.uri, kernel.mangled])
        at = name_range(view.document.text, line, kernel.base_name, snapshot.client.encoding)
        page = types.Command(title="HTML report", command=OPEN_REPORT, arguments=[view.document.uri, kernel.mangled])
        lenses += [types.CodeLens(range=at, command=each) for each in (command, page)]
    return lenses
