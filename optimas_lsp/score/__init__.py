"""EAR, Evidence-Aligned Reasoning: whether a rewrite followed the evidence, and what it did in plain words."""

from optimas_lsp.score.ear import score
from optimas_lsp.score.explain import explain
from optimas_lsp.score.model import Scores
from optimas_lsp.score.outcomes import scored, scored_rounds

__all__ = ["Scores", "explain", "score", "scored", "scored_rounds"]
