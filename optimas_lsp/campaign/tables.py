"""Every table of a campaign's report, from the rows of its dataset alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from optimas_lsp.campaign import answers, evidence, gains
from optimas_lsp.campaign.outcomes import known
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.table import Table

MAKERS: tuple[Callable[[Sequence[Row]], Table], ...] = (
    gains.overview,
    answers.programs,
    gains.amounts,
    gains.by_kernel,
    answers.correctness,
    answers.failures,
    evidence.by_evidence,
    evidence.evidence_tests,
    answers.alignment,
    gains.generalisation,
    answers.overhead,
    answers.provenance,
)


PROOFS = ("overview", "gains", "kernels", "correctness", "evidence", "evidence-tests", "inputs")
"""Tables whose figures come from proofs."""

WHERE_ANY = ("programs",)
"""Tables that are only there when something is in them."""


def tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """All tables, in the order of a report; raises MissingPackageError without scipy."""
    note = _recorded(rows)
    every = (make(rows) for make in MAKERS)
    made = (each for each in every if each.rows or each.name not in WHERE_ANY)
    return tuple(replace(each, notes=(*each.notes, note)) if note and each.name in PROOFS else each for each in made)


def _recorded(rows: Sequence[Row]) -> str:
    """The sentence under every such table that says what of it was not measured by the campaign itself."""
    sure = [row for row in rows if known(row)]
    served = [row for row in rows if row.recorded]
    if not served:
        return ""
    places = sorted({row.gpu or "an unknown GPU" for row in served})
    count = sum(bool(row.recorded) for row in sure)
    return (
        f"recorded: {count:,} of the {len(sure):,} known outcomes rest on a proof that was made before "
        f"({', '.join(places)}) and was not repeated for this campaign."
    )
