"""Which counters explain a kernel's run time over the launches of one or several reports, in plain language.

Only counts of events take part: times and clock cycles are the run time under another name, percentages and rates have
it in their denominator, and attributes of the launch or the device are no events. A count that a report holds only as
a rate is that rate times the launch's duration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimas_lsp.insight.evidence import CounterImportance, CounterScore
from optimas_lsp.insight.importance import MINIMUM_OBSERVATIONS, Ranking, Scored, Search, rank
from optimas_lsp.insight.readings import Columns, Readings
from optimas_lsp.profile.model import Launch, MetricInfo, Profile

SURVIVORS = 5
"""At most this many counters are reported; more would be noise to a reader."""

MINIMUM_SCORE = 0.02
"""A counter must explain this share of the run time's norm alone, also at the lower end of its interval."""

_COUNT = re.compile(r"^([a-z0-9]+__\w+)\.sum(?:\.per_second|\.per_cycle_elapsed)?$")
_PER_INSTRUCTION = re.compile(
    r"^(?:inst_executed|thread_inst_executed(?:_true)?"
    r"|sass__inst_executed_(?:global|local|shared)_(?:loads|stores)|sass__inst_executed_register_spilling\w*"
    r"|memory_l[12]_(?:wavefronts|theoretical_sectors|tag_requests)_\w+"
    r"|derived__memory_l[12]_\w+_excessive|derived__local_spilling_requests)$"
)
"""Counters collected per instruction have no rollup in their name; their value is the sum over instructions."""

_TIME = re.compile(
    r"^(?:gpu__time|[a-z0-9]+__cycles_(?:elapsed|active)$|profiler__|launch__|device__|derived_temp|numa__)"
)
_BYTES_SUFFIX = {"per_second", "per_cycle_elapsed"}

UNITS: dict[str, str] = {
    "dram": "device memory (DRAM)",
    "fbpa": "device memory (DRAM)",
    "lts": "L2 cache",
    "lrc": "L2 cache",
    "l1tex": "L1 cache, shared memory and texture",
    "idc": "constant cache",
    "sm": "multiprocessor",
    "smsp": "multiprocessor",
    "sass": "instructions",
    "inst_executed": "instructions",
    "thread_inst_executed": "instructions",
    "memory": "memory instructions",
    "derived": "derived from other counters",
}
"""Hardware units by the prefix of their counters, as the profiler's documentation names them."""


def group_of(counter: str) -> str:
    """The hardware unit a counter belongs to: the part of its name before the double underscore."""
    name = counter.removeprefix("derived__") if counter.count("__") > 1 else counter
    if name.startswith(("memory_", "inst_executed", "thread_inst_executed")):
        return "memory" if name.startswith("memory_") else "sass"
    return name.partition("__")[0]


@dataclass(frozen=True)
class _Row:
    seconds: float
    counts: dict[str, float]


def importance(
    profile: Profile,
    launches: Sequence[Launch],
    others: Iterable[tuple[Profile, Sequence[Launch]]] = (),
    search: Search | None = None,
) -> CounterImportance:
    """Rank the counters of launches of one kernel; ``others`` adds the same kernel's launches from other reports.

    The answer holds ``why_not`` instead of counters where a ranking would be made up.
    """
    sources = [(profile, launches), *others]
    rows = [row for source, chosen in sources for row in _rows(source, chosen)]
    if len(rows) < MINIMUM_OBSERVATIONS:
        found = rank([], np.zeros((len(rows), 0)), np.array([row.seconds for row in rows]), search)
        return CounterImportance(observations=len(rows), why_not=None if isinstance(found, Ranking) else found.text)
    common = set(rows[0].counts)
    for row in rows[1:]:
        common &= row.counts.keys()
    names = sorted(common)
    values = np.array([[row.counts[name] for name in names] for row in rows]).reshape(len(rows), len(names))
    found = rank(names, values, np.array([row.seconds for row in rows]), search)
    if not isinstance(found, Ranking):
        return CounterImportance(observations=found.observations, why_not=found.text)
    described = _descriptions(source for source, _ in sources)
    sure = [scored for scored in found.counters if min(scored.score, scored.low) >= MINIMUM_SCORE]
    kept = [_plainest(scored, described) for scored in sure[:SURVIVORS]]
    return CounterImportance(
        observations=found.observations,
        explained=found.explained,
        counters=tuple(
            CounterScore(
                name=scored.name,
                unit=described[scored.name].unit if scored.name in described else "",
                group=group_of(scored.name),
                description=described[scored.name].description if scored.name in described else "",
                score=scored.score,
                low=scored.low,
                high=scored.high,
                selected=scored.selected,
                together=scored.together,
            )
            for scored in kept
        ),
        why_not=None if kept else "no counter explains a noticeable share of the run time",
    )


def _plainest(scored: Scored, described: dict[str, MetricInfo]) -> Scored:
    """Let the counter with the shortest name among those the vendor describes stand for its group.

    Which of them stands for all is free, because nothing in the launches tells them apart.
    """
    told = [name for name in (scored.name, *scored.together) if name in described and described[name].description]
    best = min(told, key=lambda name: (len(name), name), default=scored.name)
    others = tuple(name for name in (scored.name, *scored.together) if name != best)
    return replace(scored, name=best, together=others)


def _rows(profile: Profile, launches: Sequence[Launch]) -> list[_Row]:
    stems, plain = _candidates(profile)
    columns = Columns(profile)
    rows: list[_Row] = []
    for launch in launches:
        readings = Readings(columns, launch)
        if readings.seconds is None or readings.seconds <= 0:
            continue
        counts = {stem: value for stem in stems if (value := readings.total(stem)) is not None}
        counts |= {name: value for name in plain if (value := readings.first(name)) is not None}
        rows.append(_Row(readings.seconds, counts))
    return rows


def _candidates(profile: Profile) -> tuple[list[str], list[str]]:
    """Stems of counts (``dram__bytes_read``), and counters without a rollup that are sums over instructions."""
    stems: dict[str, None] = {}
    plain: list[str] = []
    for metric in profile.metrics:
        found = _COUNT.match(metric.name)
        if found and not _TIME.match(found[1]) and "throughput" not in found[1]:
            stems[found[1]] = None
        elif _PER_INSTRUCTION.match(metric.name):
            plain.append(metric.name)
    return list(stems), plain


def _descriptions(profiles: Iterable[Profile]) -> dict[str, MetricInfo]:
    """Unit and the vendor's own description of each candidate; a rate's unit loses its denominator."""
    found: dict[str, MetricInfo] = {}
    for profile in profiles:
        for metric in profile.metrics:
            count = _COUNT.match(metric.name)
            stem = count[1] if count else metric.name
            unit = metric.unit.split("/")[0] if metric.name.rpartition(".")[2] in _BYTES_SUFFIX else metric.unit
            if stem not in found or (metric.description and not found[stem].description):
                found[stem] = MetricInfo(name=stem, unit=unit, description=metric.description)
    return found


def counter_text(scored: CounterScore, observations: int) -> str:
    """What one counter's score says, with the profiler's own description of the counter."""
    first = scored.description.partition("\n")[0].strip().rstrip(".")
    says = f" The profiler describes it as: {first}." if first else ""
    unit = UNITS.get(scored.group)
    place = f" ({unit})" if unit else ""
    return (
        f"{scored.name}{place} alone explains {100 * scored.score:.0f} % of the run time over {observations} launches "
        f"(95 % interval {100 * scored.low:.0f} to {100 * scored.high:.0f} %; chosen by {100 * scored.selected:.0f} % "
        f"of the ensemble){_others(scored)}.{says}"
    )


def _others(scored: CounterScore) -> str:
    if not scored.together:
        return ""
    groups = Counter(UNITS.get(group_of(name), group_of(name)) for name in scored.together).most_common(3)
    where = ", ".join(f"{count} of {unit}" for unit, count in groups)
    return f"; nothing tells it apart from {len(scored.together)} other counters ({where})"
