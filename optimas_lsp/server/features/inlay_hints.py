"""textDocument/inlayHint: at the end of the hottest lines their share of samples and the main reason.

Like diagnostics, hints are written as JSON: what an edit does not change once, only positions at each request.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server import wording
from optimas_lsp.server.features.rewritten import rewritten_here, within
from optimas_lsp.server.messages import Encoded
from optimas_lsp.server.positions import encoded_line_end, lines_within
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.views import FileIndex, Heat

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import LineHeat


def inlay_hints(snapshot: Snapshot, params: types.InlayHintParams) -> Encoded:
    """Hints within the range that was asked for, of the few hottest lines of the whole file, in order of lines."""
    view = snapshot.view(params.text_document.uri)
    settings = None if view is None else snapshot.settings_for(view.document.path)
    if view is None or settings is None or not settings.inlay_hints.enable:
        return Encoded("[]")
    wanted = lines_within(params.range)
    index = view.index
    labels = index.derived("inlay hints", lambda: _labels(index))
    least, maximum = settings.lines.minimum_share, settings.inlay_hints.maximum_per_file
    hottest: dict[int, Heat] = {}
    rewrites = rewritten_here(snapshot, view)
    for line, heat in view.heats():
        if len(hottest) >= maximum:
            break
        if heat.kernel.hot and heat.heat.share >= least and not any(within(each, line) for each in rewrites):
            hottest.setdefault(line, heat)
    text, encoding = view.document.text, snapshot.client.encoding
    hints = (
        f'{{"position":{encoded_line_end(text, line, encoding)},"label":{labels[heat]},"paddingLeft":true}}'
        for line, heat in sorted(hottest.items(), key=lambda item: item[0])
        if line in wanted
    )
    return Encoded(f"[{','.join(hints)}]")


def _labels(index: FileIndex) -> dict[Heat, str]:
    """The label of every heat as JSON."""
    causing: dict[tuple[str, int], float] = {}
    for finding in index.findings:
        evidence = finding.evidence
        if evidence.source == "bl":
            place = (finding.kernel.mangled, finding.line)
            causing[place] = max(evidence.share, causing.get(place, 0.0))
    return {
        heat: json.dumps(label(heat.heat, causing.get((heat.kernel.mangled, heat.line), 0.0))) for heat in index.heats
    }


def label(heat: LineHeat, causing: float = 0.0) -> str:
    """A bar, the share of the kernel's samples and the reason most warps wait for.

    ``causing`` is the share of samples that wait elsewhere because of this line; told where that is more.
    """
    from optimas_lsp.insight.stalls import is_stall

    main = next((each.reason for each in heat.reasons if is_stall(each.reason)), None)
    reason = f" {wording.one_line(main)}" if main else ""
    own = f"{wording.bar(heat.share, 5)} {wording.short_percent(heat.share)}{reason}"
    return f"{own} · makes {wording.short_percent(causing)} wait" if causing > heat.share else own
