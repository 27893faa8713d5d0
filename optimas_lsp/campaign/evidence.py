"""Tables of what the evidence is worth: gain by subset, and each subset against all three in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from optimas_lsp.campaign.outcomes import BOOTSTRAP, clusters, ends, gain, improved, known, together
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.statistics import holm, mean, median, paired, percentile
from optimas_lsp.campaign.table import Chart, Column, Table, Value
from optimas_lsp.rewrite.subsets import SEVEN

ALL = "pc+rl+ia"


def by_evidence(rows: Sequence[Row]) -> Table:
    """Gain by subset of evidence: over all known outcomes, nothing offered counting as no gain."""
    columns = (
        Column("evidence"),
        Column("experiments", "count"),
        Column("no evidence", "count"),
        Column("known", "count"),
        Column("improved", "count"),
        Column("improved of known", "percent"),
        Column("mean gain of known", "percent"),
        Column("low", "percent"),
        Column("high", "percent"),
        Column("median gain of improved", "percent"),
    )
    body: list[tuple[Value, ...]] = []
    for name in _subsets(rows):
        group = [row for row in rows if row.evidence == name]
        sure, better = [row for row in group if known(row)], [row for row in group if improved(row)]
        middle = median(clusters(better, gain))
        body.append(
            (
                name,
                len(group),
                sum(row.ending == "no-evidence" for row in group),
                len(sure),
                len(better),
                len(better) / len(sure) if sure else None,
                *ends(mean(clusters(sure, gain))),
                None if middle is None else middle.value,
            )
        )
    notes = (
        f"low, high: 95 % interval of the mean ({BOOTSTRAP}).",
        "Subsets differ in which kernels are known; the table of pairs compares like with like.",
        *together(rows, "backend", "device"),
    )
    chart = Chart(("evidence",), "mean gain of known", "low", "high")
    return Table("evidence", "Gain by evidence", columns, tuple(body), notes, chart)


def _subsets(rows: Sequence[Row]) -> list[str]:
    there = {row.evidence for row in rows}
    return [name for name in SEVEN if name in there]


def evidence_tests(rows: Sequence[Row]) -> Table:
    """Each subset against all three sources, in pairs that differ in nothing else; Wilcoxon's test over kernels.

    One pair is a kernel on an input (with backend, model, device), repetitions summarised by their median.
    """

    def cell(row: Row) -> tuple[str, ...]:
        return row.program, row.kernel, row.backend, row.model, row.input, row.device

    gains: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for row in rows:
        if known(row):
            gains.setdefault(row.evidence, {}).setdefault(cell(row), []).append(gain(row))
    middle = {name: {at: percentile(values, 0.5) for at, values in cells.items()} for name, cells in gains.items()}
    reference = middle.get(ALL, {})
    names = [name for name in _subsets(rows) if name != ALL]
    found = [
        paired(_matched(middle.get(name, {}), reference)) if name in middle and reference else None for name in names
    ]
    corrected = holm([None if each is None else each.p for each in found])
    body = tuple(
        (
            name,
            0 if each is None else each.pairs,
            0 if each is None else each.groups,
            0 if each is None else each.greater,
            0 if each is None else each.equal,
            0 if each is None else each.less,
            *ends(None if each is None else each.difference),
            None if each is None else each.p,
            p,
        )
        for name, each, p in zip(names, found, corrected, strict=True)
    )
    columns = (
        Column("evidence"),
        Column("pairs", "count"),
        Column("kernels", "count"),
        Column("better", "count"),
        Column("equal", "count"),
        Column("worse", "count"),
        Column("mean difference", "percent"),
        Column("low", "percent"),
        Column("high", "percent"),
        Column("p", "p"),
        Column("p (Holm)", "p"),
    )
    notes = (
        f"better: a greater gain than with {ALL} on the same kernel, input, backend and device.",
        f"mean difference: in points of gain, over all pairs; low, high: its 95 % interval ({BOOTSTRAP}).",
        "p: two-sided exact Wilcoxon signed-rank test over kernels, each by the mean difference of its pairs.",
        "p is empty where fewer than 6 kernels differ. Holm: corrected for the number of subsets.",
        "A pair needs both outcomes known; what is not known on either side is left out.",
    )
    return Table("evidence-tests", f"Evidence against {ALL}, in pairs", columns, body, notes)


Cells = dict[tuple[str, ...], float]


def _matched(one: Cells, other: Cells) -> list[list[tuple[float, float]]]:
    """What both have, as pairs by kernel (program and kernel lead a cell's name)."""
    both = sorted(one.keys() & other.keys())
    return [[(one[each], other[each]) for each in group] for _, group in groupby(both, lambda cell: cell[:2])]
