"""textDocument/inlayHint: at the end of the hottest lines their share of samples and the main reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server import wording
from optimas_lsp.server.positions import line_end, lines_within
from optimas_lsp.server.snapshot import Snapshot

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import LineHeat


def inlay_hints(snapshot: Snapshot, params: types.InlayHintParams) -> list[types.InlayHint]:
    """Hints within the range that was asked for, of the few hottest lines of the whole file, in order of lines."""
    view = snapshot.view(params.text_document.uri)
    settings = None if view is None else snapshot.settings_for(view.document.path)
    if view is None or settings is None or not settings.inlay_hints.enable:
        return []
    wanted = lines_within(params.range)
    hottest: dict[int, LineHeat] = {}
    for line, heat in view.heats():
        if len(hottest) >= settings.inlay_hints.maximum_per_file:
            break
        if heat.kernel.hot and heat.heat.share >= settings.lines.minimum_share:
            hottest.setdefault(line, heat.heat)
    return [
        types.InlayHint(
            position=line_end(view.document.text, line, snapshot.client.encoding),
            label=label(heat),
            padding_left=True,
        )
        for line, heat in sorted(hottest.items())
        if line in wanted
    ]


def label(heat: LineHeat) -> str:
    """A bar, the share of the kernel's samples and the reason most warps wait for."""
    from optimas_lsp.insight.stalls import is_stall

    main = next((each.reason for each in heat.reasons if is_stall(each.reason)), None)
    return f"{wording.bar(heat.share, 5)} {wording.short_percent(heat.share)}" + (f" {main}" if main else "")
