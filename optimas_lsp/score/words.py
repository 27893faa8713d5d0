"""The scores for a person: one line, or every measure with its interval and reason."""

from __future__ import annotations

from optimas_lsp.score.measure import Measure
from optimas_lsp.score.model import Scores

MEASURES: tuple[tuple[str, str, str, str, str], ...] = (
    ("citations", "coverage", "evidence coverage", "findings", "given findings that an applied change cites"),
    ("citations", "considered", "considered", "findings", "those and what only ideas not applied cite"),
    ("citations", "precision", "citation precision", "citations", "cited ids that were given"),
    ("localisation", "hot_samples", "hot samples edited", "samples", "samples of hot lines that lie on edited lines"),
    ("localisation", "hot_samples_caused", "… or made to wait", "samples", "those and what waits for an edited line"),
    ("localisation", "edited_lines", "edited lines hot", "lines", "edited lines that are hot"),
    ("localisation", "edited_lines_causing", "… or making wait", "lines", "those and lines that hot samples wait for"),
    ("direction", "given", "directional consistency", "findings", "findings measured again that moved as implied"),
    ("direction", "cited", "… of those cited", "findings", "of those that a change cites"),
)
"""Group and field of each measure, its name, what is counted, and what it is in a sentence."""


def measure(scores: Scores, group: str, field: str) -> Measure:
    """One measure by the names in ``MEASURES``."""
    found: Measure = getattr(getattr(scores, group), field)
    return found


def in_one_line(scores: Scores) -> str:
    """The main measures in a line; what all lack for the same reason is said once."""
    shown = [("coverage", scores.citations.coverage), ("precision", scores.citations.precision)]
    shown += [("hot samples edited", scores.localisation.hot_samples)]
    shown += [("edited lines hot", scores.localisation.edited_lines), ("direction", scores.direction.given)]
    known = [f"{name} {_short(each)}" for name, each in shown if not each.why_not]
    reasons: dict[str, list[str]] = {}
    for name, each in shown:
        if each.why_not:
            reasons.setdefault(each.why_not, []).append(name)
    missing = [f"{', '.join(names)} not measurable: {why}" for why, names in reasons.items()]
    return "; ".join([", ".join(known), *missing] if known else missing)


def _short(each: Measure) -> str:
    if each.value is None or each.hits is None:
        return "not measurable"
    return f"{100 * each.value:.0f} % ({round(each.hits):,} of {each.of:,})"


def as_text(scores: Scores, file: str = "") -> str:
    """Every measure with its 95 % interval, and what it was counted on; ``file`` is that whose lines are named."""
    answer = "there is no answer" if scores.attempt is None else f"answer {scores.attempt}"
    lines = [f"EAR, Evidence-Aligned Reasoning: {answer}; intervals are 95 % (Wilson)"]
    width = max(len(name) for _, _, name, _, _ in MEASURES)
    for group, field, name, what, means in MEASURES:
        lines += [f"  {name:<{width}}  {measure(scores, group, field).words(what)}", f"  {'':<{width}}  {means}"]
    cited, at, way = scores.citations, scores.localisation, scores.direction
    lists = (
        ("cited", cited.cited),
        ("not cited", cited.uncited),
        ("invented", cited.invented),
        ("edited lines", _places(file, at.edited)),
        ("hot lines", _places(file, at.hot)),
        ("as implied", way.as_implied),
        ("the other way", way.other_way),
        ("within noise", way.within_noise),
        ("not measured", way.not_measured),
    )
    lines += [f"  {name:<{width}}  {', '.join(each)}" for name, each in lists if each]
    if at.lines_from == "assumed":
        lines.append("  lines are taken to be as profiled; give --profile REPORT to lead them through its text")
    if at.lost_samples:
        lines.append(f"  {at.lost_samples:,} samples lie on lines whose text changed since profiling: left out")
    return "\n".join(lines) + "\n"


def _places(file: str, lines: tuple[int, ...]) -> tuple[str, ...]:
    """Lines with their file, which is said once."""
    named = f"{file}:" if file else ""
    return tuple(f"{'' if at else named}{line}" for at, line in enumerate(lines))
