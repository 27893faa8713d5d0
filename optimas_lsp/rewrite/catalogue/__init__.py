"""Source transformations that profiles ask for: deterministic, on the syntax tree, applied only where proven sound."""

from optimas_lsp.rewrite.catalogue.explain import Explanation, explain
from optimas_lsp.rewrite.catalogue.propose import RankedProposal, propose, shortlist
from optimas_lsp.rewrite.catalogue.registry import Entry, entries

__all__ = ["Entry", "Explanation", "RankedProposal", "entries", "explain", "propose", "shortlist"]
