"""``python -P -m optimas_lsp.server.outcome_page OUTCOME.json PAGE.html``: the page about an outcome, in a process.

Standard output says nothing; exit status 3 where this installation draws no such page.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from optimas_lsp.server import rule_pages

ROOM = "optimas_lsp.report.html.outcome"
NO_PAGE = 3


def main(arguments: list[str]) -> int:
    """Write the page; the exit status."""
    if find_spec(ROOM) is None:
        return NO_PAGE
    from optimas_lsp.rewrite.outcome import Rewriting

    outcome, page = map(Path, arguments)
    rewriting = Rewriting.model_validate_json(outcome.read_bytes())
    rule_pages.put(page, str(import_module(ROOM).outcome_page(rewriting)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
