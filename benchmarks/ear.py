"""EAR of what was recorded on an H200: the samples' candidates, and one change profiled before and after.

``python benchmarks/ear.py`` prints one line "name value unit" for each measure over all candidates, and what scoring
takes. ``python benchmarks/ear.py --table`` prints the Markdown table of docs/ear.md instead.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from _clock import best_of
from _recorded import Recorded, measured_pair, recorded, samples

from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score import Scores, score
from optimas_lsp.score.ear import recorded as scores_of
from optimas_lsp.score.effect import measured
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.words import MEASURES, measure

ROOT = Path(__file__).parents[1]
HEAD = (
    "candidate",
    "proof",
    "coverage",
    "precision",
    "hot samples edited",
    "… or made to wait",
    "edited lines hot",
    "direction",
)
COLUMNS = (
    ("citations", "coverage"),
    ("citations", "precision"),
    ("localisation", "hot_samples"),
    ("localisation", "hot_samples_caused"),
    ("localisation", "edited_lines"),
    ("direction", "given"),
)


def figures(found: Sequence[Recorded]) -> int:
    """Print each measure over all recorded candidates together, and the time that scoring one takes."""
    values: dict[str, tuple[float, str]] = {}
    full = ""
    for group, field, name, what, _ in MEASURES:
        full = f"{full.partition(' or ')[0]}{name[1:]}" if name.startswith("…") else name
        each = [measure(scores_in(one.rewriting), group, field) for one in found]
        known = [one for one in each if one.hits is not None and one.of is not None]
        if known:
            share = sum(one.hits or 0.0 for one in known) / sum(one.of or 0 for one in known)
            values[f"ear {full}"] = (100 * share, f"% of {sum(one.of or 0 for one in known)} {what}")
    largest = max(found, key=lambda one: len(one.rewriting.analysis.lines) if one.rewriting.analysis else 0)
    taken = best_of(lambda: score(largest.rewriting, original=largest.original, places=largest.places))
    values["ear scoring one outcome"] = (1000 * taken.judged, "ms")
    for name, (value, unit) in values.items():
        print(f"{name} {value:.1f} {unit}")
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    told = {name: {"value": value, "unit": unit} for name, (value, unit) in values.items()}
    (out / "ear.json").write_text(json.dumps({"machine": platform.machine(), **told}, indent=2), "utf-8")
    return 0


def table(found: Sequence[Recorded]) -> int:
    """Print a line a candidate, and one for the change that was profiled again."""
    print(f"| {' | '.join(HEAD)} |")
    print(f"|---|---|{'---|' * len(COLUMNS)}")
    for one in found:
        print(row(f"{name_of(one)} {one.number}: {steps(one.rewriting)}", one.rewriting))
    pair, _ = measured_pair()
    print(row("adjacent, by hand: neighbouring threads on neighbouring elements", pair))
    return 0


def name_of(one: Recorded) -> str:
    """The sample's folder."""
    return Path(one.rewriting.source).parent.name


def steps(rewriting: Rewriting) -> str:
    """The transformations of the last answer, each once."""
    outcome = rewriting.last.reply.outcome if rewriting.last is not None else None
    names = [each.transformation for each in outcome.changes] if isinstance(outcome, Proposal) else []
    return ", ".join(dict.fromkeys(names))


def row(name: str, rewriting: Rewriting) -> str:
    """One line of the table."""
    scores = scores_in(rewriting)
    cells = [cell(measure(scores, group, field)) for group, field in COLUMNS]
    timing = measured(rewriting.proof).timing
    ratio = timing.kernel_ns if timing is not None else None
    state = rewriting.proof.state if rewriting.proof is not None else "none"
    proof = state if ratio is None else f"{state}, {ratio.speedup:.2f}×"
    return f"| {name} | {proof} | {' | '.join(cells)} |"


def cell(each: Measure) -> str:
    """Share, counts and interval; or that it is not measurable."""
    if each.value is None or each.hits is None or each.low is None or each.high is None:
        return "not measurable"
    digits = 1 if (each.of or 0) >= 1000 else 0
    low, high = (f"{100 * end:.{digits}f}" for end in (each.low, each.high))
    share = f"{100 * each.value:.{digits}f} % ({low}–{high})"
    return share if digits else f"{share}, {round(each.hits)}/{each.of}"


def scores_in(rewriting: Rewriting) -> Scores:
    """The scores that were made while the report was at hand."""
    return scores_of(rewriting) or score(rewriting)


if __name__ == "__main__":
    candidates = [one for sample in samples() for one in recorded(sample)]
    sys.exit(table(candidates) if "--table" in sys.argv else figures(candidates))
