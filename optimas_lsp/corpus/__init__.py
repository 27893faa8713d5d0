"""Memory: every attempt with its evidence, change, gates and times, found again when like evidence comes up.

``Corpus`` is what other rooms use. Keeping never fails a rewrite: what went wrong is a note.
"""

from optimas_lsp.corpus.convert import Context
from optimas_lsp.corpus.facade import Corpus
from optimas_lsp.corpus.query import Query

__all__ = ["Context", "Corpus", "Query"]
