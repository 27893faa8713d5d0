"""Every table of a campaign's report, from the rows of its dataset alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from optimas_lsp.campaign import answers, gains
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.table import Table

MAKERS: tuple[Callable[[Sequence[Row]], Table], ...] = (
    gains.overview,
    gains.amounts,
    gains.by_kernel,
    answers.correctness,
    answers.failures,
    gains.by_evidence,
    gains.evidence_tests,
    answers.alignment,
    gains.generalisation,
    answers.overhead,
    answers.provenance,
)


def tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """All tables, in the order of a report; raises MissingPackageError without scipy."""
    return tuple(make(rows) for make in MAKERS)
