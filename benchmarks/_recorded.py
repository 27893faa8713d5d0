"""What was recorded on an H200: the samples' candidates, and one change profiled before and after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optimas_lsp.config import Settings
from optimas_lsp.course import Program
from optimas_lsp.insight.changes import Comparison
from optimas_lsp.insight.compare import compare
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.rewrite.catalogue.looking import function_text
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.prompt import build_prompt
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score.recorded import Recorded, answered, recorded_rewritings
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText

ROOT = Path(__file__).parents[1]
PAIR = ROOT / "tests" / "insight" / "reports"
SAMPLES = ROOT / "samples"


def samples() -> tuple[str, ...]:
    """The samples with recorded candidates."""
    return tuple(sorted(path.parent.name for path in SAMPLES.glob("*/outcomes.json")))


def recorded(sample: str) -> Iterator[Recorded]:
    """Every candidate that was recorded for a sample, in the file's order."""
    return recorded_rewritings(SAMPLES / sample / "outcomes.json")


def measured_pair() -> tuple[Rewriting, Comparison]:
    """A change of ``samples/adjacent`` that was profiled before and after on an H200, and what the profiles say.

    The change was made by hand, so its citations are ours: the findings about the loads and stores it moves.
    """
    before, after = (
        load_analysis(PAIR / f"adjacent-{name}.ncu-repz", Settings(), keep_all=True) for name in ("before", "after")
    )
    program = Program.of(SAMPLES / "adjacent" / "adjacent.cu")
    subject = program.subject(PAIR / "adjacent-before.ncu-repz", "adjacent_kernel")
    [text] = [each.text for each in after[0].files if each.text]
    kernel = function_text(parse(SourceText.of(text), "cuda"), "adjacent_kernel")
    change = {
        "function": "adjacent_kernel",
        "original_lines": [28, 30],
        "evidence": ["PC-1", "PC-2", "PC-3", "PC-4", "BL-1", "BL-2", "PT-1", "PT-2", "RL-1"],
        "transformation": "striped-items",
        "reason": "neighbouring threads work on neighbouring elements",
    }
    proposal = Proposal.model_validate(
        {"functions": [{"function": "adjacent_kernel", "text": kernel}], "changes": [change]}
    )
    compared = compare(before, after)
    return answered(proposal, subject, build_prompt(subject), compared=compared, backend="manual"), compared
