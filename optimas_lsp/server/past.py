"""``python -P -m optimas_lsp.server.past``: what past attempts say about rules of evidence, for *Explain*.

The rules stand on standard input, one a line; the answer is a JSON list of sentences. A process of its own, because a
large corpus is counted for longer than an event loop may wait. Where the corpus cannot be read, that is a sentence.
"""

from __future__ import annotations

import json
import sys

from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.explain import told


def main() -> int:
    """Answer the one question on standard input."""
    rules = list(dict.fromkeys(sys.stdin.read().split()))
    corpus = Corpus.of_user()
    known = corpus.experience(rules)
    sentences = [sentence for rule in rules for sentence in told(rule, known)]
    json.dump([*sentences, *(note.text for note in corpus.notes)], sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
