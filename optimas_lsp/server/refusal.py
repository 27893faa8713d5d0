"""``python -P -m optimas_lsp.server.refusal OUTCOME.json KIND``: keeps a person's no to a rewrite, the reason on stdin.

``KIND`` is ``rejected`` or ``reverted``. Exit status 1, with the sentence on standard error, where it was not kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

from optimas_lsp.corpus import Corpus
from optimas_lsp.rewrite.outcome import Rewriting


def main(arguments: list[str]) -> int:
    """Keep the no; the exit status."""
    rewriting = Rewriting.model_validate_json(Path(arguments[0]).read_bytes())
    kind = "reverted" if arguments[1] == "reverted" else "rejected"
    note = Corpus.of_user().refuse(rewriting, sys.stdin.read(), kind)
    if note is not None:
        sys.stderr.write(f"{note.text}\n")
    return 0 if note is None else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
