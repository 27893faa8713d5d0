"""Tables of what was gained: in all, by kernel, by subset of evidence with paired tests, over inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from optimas_lsp.campaign.outcomes import (
    WRONG,
    clusters,
    elsewhere,
    ends,
    gain,
    grouped,
    improved,
    kernel_of,
    known,
    model_of,
)
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.statistics import holm, mean, median, paired, percentile, share
from optimas_lsp.campaign.table import Chart, Column, Table, Value
from optimas_lsp.rewrite.subsets import SEVEN

ALL = "pc+rl+ia"


def overview(rows: Sequence[Row]) -> Table:
    """How many experiments there were and what is known of them, one line a backend and device."""
    columns = (
        Column("backend"),
        Column("device"),
        Column("experiments", "count"),
        Column("no evidence", "count"),
        Column("program failed", "count"),
        Column("failed", "count"),
        Column("not proven", "count"),
        Column("timed elsewhere", "count"),
        Column("known", "count"),
        Column("by a record", "count"),
        Column("improved", "count"),
        Column("improved of known", "percent"),
        Column("low", "percent"),
        Column("high", "percent"),
    )
    body: list[tuple[Value, ...]] = []
    for name, group in grouped(rows, lambda row: f"{model_of(row)}\0{row.device}"):
        backend, _, device = name.partition("\0")
        count = Counter(row.ending for row in group)
        sure, better = [row for row in group if known(row)], [row for row in group if improved(row)]
        body.append(
            (
                backend,
                device,
                len(group),
                count["no-evidence"],
                count["program-failed"],
                count["failed"],
                count["not-proven"],
                sum(map(elsewhere, group)),
                len(sure),
                sum(bool(row.recorded) for row in sure),
                len(better),
                *ends(share(len(better), len(sure))),
            )
        )
    notes = (
        "known: the experiment answers whether its kernel got faster on its input; improved: proven right and faster.",
        "program failed: the program itself, without any change, so that no candidate of it can be judged.",
        "not proven: a candidate stands that nobody ran. timed elsewhere: decided by the time of another input.",
        "low, high: 95 % interval (Wilson); it treats experiments as independent, which those on one kernel are not.",
    )
    return Table("overview", "Experiments and improvements", columns, tuple(body), notes)


def amounts(rows: Sequence[Row]) -> Table:
    """Mean and median gains with their intervals: of what improved, and of all that is known."""
    columns = (
        Column("backend"),
        Column("of"),
        Column("experiments", "count"),
        Column("kernels", "count"),
        Column("mean gain", "percent"),
        Column("mean low", "percent"),
        Column("mean high", "percent"),
        Column("median gain", "percent"),
        Column("median low", "percent"),
        Column("median high", "percent"),
        Column("mean time saved", "percent"),
    )
    body: list[tuple[Value, ...]] = []
    for name, group in grouped(rows, model_of):
        for words, chosen in (("improved", filter(improved, group)), ("known", filter(known, group))):
            some = list(chosen)
            by_kernel = clusters(some, gain)
            saved = [1 - 1 / (1 + gain(row)) for row in some]
            least = sum(saved) / len(saved) if saved else None
            body.append(
                (name, words, len(some), len(by_kernel), *ends(mean(by_kernel)), *ends(median(by_kernel)), least)
            )
    notes = (
        "gain: old kernel time over new, minus one; where nothing was offered it is 0. time saved: 1 - new over old.",
        "low, high: 95 % interval (bootstrap over kernels); none for fewer than 4 kernels.",
    )
    return Table("gains", "Gains", columns, tuple(body), notes)


def by_kernel(rows: Sequence[Row]) -> Table:
    """Gains, one line a kernel."""
    columns = (
        Column("kernel"),
        Column("experiments", "count"),
        Column("known", "count"),
        Column("improved", "count"),
        Column("median gain", "percent"),
        Column("least gain", "percent"),
        Column("greatest gain", "percent"),
        Column("best speed-up", "factor"),
        Column("its low", "factor"),
        Column("its high", "factor"),
        Column("ceiling", "factor"),
        Column("best change"),
    )
    body: list[tuple[Value, ...]] = []
    for name, group in grouped(rows, kernel_of):
        sure, better = [row for row in group if known(row)], [row for row in group if improved(row)]
        gains = [gain(row) for row in better]
        best = max(better, key=gain, default=None)
        ceilings = [row.ceiling for row in group if row.ceiling is not None]
        body.append(
            (
                name,
                len(group),
                len(sure),
                len(better),
                percentile(gains, 0.5) if gains else None,
                min(gains, default=None),
                max(gains, default=None),
                None if best is None else best.speedup,
                None if best is None else best.low,
                None if best is None else best.high,
                ceilings[0] if ceilings else None,
                "" if best is None else best.transformation,
            )
        )
    notes = (
        "gains are of improved experiments. ceiling: what the roofline leaves for the work that the kernel does.",
        "its low, its high: 95 % interval of the best measured speed-up.",
    )
    return Table("kernels", "Gains by kernel", columns, tuple(body), notes, Chart(("kernel",), "best speed-up"))


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
        part, middle = share(len(better), len(sure)), median(clusters(better, gain))
        body.append(
            (
                name,
                len(group),
                sum(row.ending == "no-evidence" for row in group),
                len(sure),
                len(better),
                None if part is None else part.value,
                *ends(mean(clusters(sure, gain))),
                None if middle is None else middle.value,
            )
        )
    notes = (
        "low, high: 95 % interval of the mean (bootstrap over kernels). Subsets differ in which kernels are known.",
    )
    chart = Chart(("evidence",), "mean gain of known", "low", "high")
    return Table("evidence", "Gain by evidence", columns, tuple(body), notes, chart)


def _subsets(rows: Sequence[Row]) -> list[str]:
    there = {row.evidence for row in rows}
    return [name for name in SEVEN if name in there]


def evidence_tests(rows: Sequence[Row]) -> Table:
    """Each subset against all three sources, in pairs that differ in nothing else; Wilcoxon's test on median gains.

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
        paired(*_matched(middle.get(name, {}), reference)) if name in middle and reference else None for name in names
    ]
    corrected = holm([None if each is None else each.p for each in found])
    body = tuple(
        (
            name,
            0 if each is None else each.pairs,
            0 if each is None else each.greater,
            0 if each is None else each.equal,
            0 if each is None else each.less,
            None if each is None else each.p,
            p,
        )
        for name, each, p in zip(names, found, corrected, strict=True)
    )
    columns = (
        Column("evidence"),
        Column("pairs", "count"),
        Column("better", "count"),
        Column("equal", "count"),
        Column("worse", "count"),
        Column("p", "p"),
        Column("p (Holm)", "p"),
    )
    notes = (
        f"better: a greater gain than with {ALL} on the same kernel, input, backend and device.",
        "p: two-sided Wilcoxon signed-rank test of the gains; empty where fewer than 6 pairs differ.",
        "The test treats pairs as independent, which those on one kernel are not.",
    )
    return Table("evidence-tests", f"Evidence against {ALL}, in pairs", columns, body, notes)


def _matched(one: dict[tuple[str, ...], float], other: dict[tuple[str, ...], float]) -> tuple[list[float], list[float]]:
    both = sorted(one.keys() & other.keys())
    return [one[each] for each in both], [other[each] for each in both]


def generalisation(rows: Sequence[Row]) -> Table:
    """By kernel and input: does what was found there help; one line each, all evidence and backends together."""
    columns = (
        Column("kernel"),
        Column("input"),
        Column("known", "count"),
        Column("improved", "count"),
        Column("not faster", "count"),
        Column("wrong", "count"),
        Column("nothing offered", "count"),
        Column("median gain of improved", "percent"),
        Column("not known", "count"),
    )
    body: list[tuple[Value, ...]] = []
    for name, group in grouped(rows, lambda row: f"{kernel_of(row)}\0{row.input}"):
        kernel, _, input_ = name.partition("\0")
        gains = [gain(row) for row in group if improved(row)]
        refuted = Counter(row.gate for row in group if row.ending == "refuted" and known(row))
        wrong = sum(refuted[gate] for gate in WRONG)
        sure = sum(map(known, group))
        body.append(
            (
                kernel,
                input_ or "(own)",
                sure,
                len(gains),
                refuted["time"] + refuted["plausible"],
                wrong,
                sure - len(gains) - refuted.total(),
                percentile(gains, 0.5) if gains else None,
                len(group) - sure,
            )
        )
    notes = ("not known: not proven, timed on another input, without evidence, or failed (program or experiment).",)
    return Table("inputs", "Generalisation over inputs", columns, tuple(body), notes)
