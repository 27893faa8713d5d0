"""Tables of what was gained: in all, by kernel, over inputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from optimas_lsp.campaign.outcomes import (
    BOOTSTRAP,
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
    together,
)
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.statistics import mean, median, percentile, share
from optimas_lsp.campaign.table import Chart, Column, Table, Value


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
        Column("improved of all", "percent"),
        Column("improved of known", "percent"),
        Column("low", "percent"),
        Column("high", "percent"),
    )
    body: list[tuple[Value, ...]] = []
    for _, group in grouped(rows, lambda row: f"{model_of(row)}\0{row.device}"):
        backend, device = model_of(group[0]), group[0].device
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
                len(better) / len(group),
                *ends(share(clusters(sure, improved))),
            )
        )
    notes = (
        "known: the experiment answers whether its kernel got faster on its input; improved: proven right and faster.",
        "program failed: the program itself, without any change, so that no candidate of it can be judged.",
        "not proven: a candidate stands that nobody ran. timed elsewhere: decided by the time of another input.",
        "improved of all: what is not known counted as not improved, which is the least that it can be.",
        "low, high: 95 % interval of improved of known, for as many independent ones as they are worth (Wilson).",
        "Experiments on one kernel are alike and worth less than their number; fewer than 4 kernels give no interval.",
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
        Column("geometric speed-up", "factor"),
    )
    body: list[tuple[Value, ...]] = []
    for name, group in grouped(rows, model_of):
        for words, chosen in (("improved", filter(improved, group)), ("known", filter(known, group))):
            some = list(chosen)
            by_kernel = clusters(some, gain)
            saved = [1 - 1 / (1 + gain(row)) for row in some]
            least = sum(saved) / len(saved) if saved else None
            factor = math.exp(math.fsum(math.log(1 + gain(row)) for row in some) / len(some)) if some else None
            body.append(
                (
                    name,
                    words,
                    len(some),
                    len(by_kernel),
                    *ends(mean(by_kernel)),
                    *ends(median(by_kernel)),
                    least,
                    factor,
                )
            )
    notes = (
        "gain: old kernel time over new, minus one; where nothing was offered it is 0. time saved: 1 - new over old.",
        "of improved: chosen by their success; the figures of known include what did not improve.",
        "Every experiment counts once, so that kernels with more known outcomes weigh more.",
        f"low, high: 95 % interval ({BOOTSTRAP}).",
        *together(rows, "device"),
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
        "best: the greatest of several, which flatters; its low, its high: the interval of its own proof.",
        *together(rows, "backend", "device"),
    )
    return Table("kernels", "Gains by kernel", columns, tuple(body), notes, Chart(("kernel",), "best speed-up"))


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
    for _, group in grouped(rows, lambda row: f"{kernel_of(row)}\0{row.input}"):
        kernel, input_ = kernel_of(group[0]), group[0].input
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
    notes = (
        "not known: not proven, timed on another input, without evidence, or failed (program or experiment).",
        *together(rows, "backend", "device", "evidence"),
    )
    return Table("inputs", "Generalisation over inputs", columns, tuple(body), notes)
