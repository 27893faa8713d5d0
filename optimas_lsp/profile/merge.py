"""Joining profiles of slices of one report: associative, commutative, and independent of how it was sliced.

Every table is kept in a canonical order (names and paths sorted, launches by index, kernels by first launch), so the
same report gives the same profile whatever the slices were. Only samples, execution counts and per-instruction sums
are added; scalar counters stay with their launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from optimas_lsp.profile.model import (
    Frame,
    Kernel,
    Launch,
    MetricInfo,
    Module,
    Note,
    Profile,
    Samples,
    SourceFile,
)

T = TypeVar("T")
Counts = tuple[int, ...] | None


def merge(parts: Iterable[Profile]) -> Profile:
    """One profile of all ``parts``, which are of one report and share no launch; at least one part is needed."""
    parts = sorted(parts, key=lambda part: part.launches[0].index if part.launches else 2**62)
    first = parts[0]
    metrics = _metrics(parts)
    reasons = tuple(sorted({name for part in parts for name in part.reasons}))
    files = _files(parts)
    rules = tuple(
        sorted({rule: None for part in parts for rule in part.rules}, key=lambda rule: rule.model_dump_json())
    )
    metric_at = {item.name: at for at, item in enumerate(metrics)}
    reason_at = {name: at for at, name in enumerate(reasons)}
    file_at = {item.path: at for at, item in enumerate(files)}
    rule_at = {item: at for at, item in enumerate(rules)}

    kernels: dict[tuple[str, str], Kernel] = {}
    launches: list[Launch] = []
    for part in parts:
        renamed = _Renumber(
            metric=[metric_at[item.name] for item in part.metrics],
            reason=[reason_at[name] for name in part.reasons],
            file=[file_at[item.path] for item in part.files],
            rule=[rule_at[item] for item in part.rules],
            metrics=len(metrics),
        )
        for kernel in part.kernels:
            key = kernel.mangled, kernel.code.sha256
            fresh = renamed.kernel(kernel)
            kernels[key] = _add(kernels[key], fresh) if key in kernels else fresh
        launches += [renamed.launch(launch) for launch in part.launches]
    return first.model_copy(
        update={
            "metrics": metrics,
            "reasons": reasons,
            "files": files,
            "rules": rules,
            "modules": _modules(parts),
            "notes": _notes(parts),
            **_order(parts, kernels, launches),
        }
    )


def _order(
    parts: list[Profile], kernels: dict[tuple[str, str], Kernel], launches: list[Launch]
) -> dict[str, tuple[Kernel, ...] | tuple[Launch, ...]]:
    """Launches by index; kernels by their first launch; launches pointed at the kernels' final places."""
    keys = iter(
        [
            (part.kernels[launch.kernel].mangled, part.kernels[launch.kernel].code.sha256)
            for part in parts
            for launch in part.launches
        ]
    )
    keyed = sorted(zip(launches, keys, strict=True), key=lambda pair: pair[0].index)
    place: dict[tuple[str, str], int] = {}
    for _, key in keyed:
        place.setdefault(key, len(place))
    for key in sorted(kernels):
        place.setdefault(key, len(place))
    return {
        "kernels": tuple(kernels[key] for key in place),
        "launches": tuple(launch.model_copy(update={"kernel": place[key]}) for launch, key in keyed),
    }


class _Renumber:
    """Rewrites the indices of one part into those of the whole."""

    def __init__(self, metric: list[int], reason: list[int], file: list[int], rule: list[int], metrics: int) -> None:
        self._metric = metric
        self._reason = reason
        self._file = [*file, -1]  # so that -1 (unknown) stays -1
        self._rule = rule
        self._metrics = metrics

    def launch(self, launch: Launch) -> Launch:
        counters: list[float | None] = [None] * self._metrics
        for at, value in zip(self._metric, launch.counters, strict=True):
            counters[at] = value
        return launch.model_copy(
            update={"counters": tuple(counters), "rules": tuple(self._rule[at] for at in launch.rules)}
        )

    def kernel(self, kernel: Kernel) -> Kernel:
        code = kernel.code
        chains = tuple(
            tuple(Frame(file=self._file[frame.file], line=frame.line, function=frame.function) for frame in links)
            for links in code.chains
        )
        causes = code.causes and tuple(
            edge.model_copy(update={"reason": self._reason[edge.reason]}) for edge in code.causes
        )
        cells = sorted((at, self._reason[reason], every, idle) for at, reason, every, idle in _cells(kernel.samples))
        return kernel.model_copy(
            update={
                "code": code.model_copy(update={**_chains(code.chain, chains), "causes": causes}),
                "samples": _columns(cells),
            }
        )


def _chains(chain: Sequence[int], chains: Sequence[tuple[Frame, ...]]) -> dict[str, object]:
    """Chain table without repeats, in order of first use, and the column that indexes it."""
    table: dict[tuple[Frame, ...], int] = {}
    column = tuple(-1 if at < 0 else table.setdefault(chains[at], len(table)) for at in chain)
    return {"chain": column, "chains": tuple(table)}


def _add(one: Kernel, other: Kernel) -> Kernel:
    offsets = one.code.offset
    if other.code.offset != offsets:  # one slice saw calls into functions outside the kernel, the other did not
        offsets = tuple(sorted({*one.code.offset, *other.code.offset}))
        one, other = _spread(one, offsets), _spread(other, offsets)
    a, b = one.code, other.code
    column = [
        at if at >= 0 else (to + len(a.chains) if to >= 0 else -1) for at, to in zip(a.chain, b.chain, strict=True)
    ]
    names = sorted({*a.metrics, *b.metrics})
    code = a.model_copy(
        update={
            **_chains(column, (*a.chains, *b.chains)),
            "sass": tuple(text or other_text for text, other_text in zip(a.sass, b.sass, strict=True)),
            "executed": _sum(a.executed, b.executed),
            "thread_executed": _sum(a.thread_executed, b.thread_executed),
            "metrics": {name: _sum(a.metrics.get(name), b.metrics.get(name)) for name in names},
        }
    )
    cells: dict[tuple[int, int], tuple[int, int]] = {}
    for samples in (one.samples, other.samples):
        for instruction, reason, every, idle in _cells(samples):
            known = cells.get((instruction, reason), (0, 0))
            cells[instruction, reason] = known[0] + every, known[1] + idle
    intervals = [item.sampling_interval_ns for item in (one, other) if item.sampling_interval_ns is not None]
    return one.model_copy(
        update={
            "code": code,
            "samples": _columns([(*key, *cells[key]) for key in sorted(cells)]),
            "sampling_interval_ns": max(intervals, default=None),
        }
    )


def _spread(kernel: Kernel, offsets: tuple[int, ...]) -> Kernel:
    """``kernel`` with its columns laid over the longer list ``offsets``."""
    code = kernel.code
    place = {offset: at for at, offset in enumerate(offsets)}
    rows = [place[offset] for offset in code.offset]

    def counts(values: Counts) -> Counts:
        return None if values is None else _lay(rows, values, len(offsets), 0)

    wide = code.model_copy(
        update={
            "offset": offsets,
            "sass": _lay(rows, code.sass, len(offsets), ""),
            "chain": _lay(rows, code.chain, len(offsets), -1),
            "executed": counts(code.executed),
            "thread_executed": counts(code.thread_executed),
            "metrics": {name: counts(values) for name, values in code.metrics.items()},
        }
    )
    cells = [(rows[at], reason, every, idle) for at, reason, every, idle in _cells(kernel.samples)]
    return kernel.model_copy(update={"code": wide, "samples": _columns(cells)})


def _lay(rows: list[int], values: Sequence[T], length: int, blank: T) -> tuple[T, ...]:
    laid = [blank] * length
    for row, value in zip(rows, values, strict=True):
        laid[row] = value
    return tuple(laid)


def _sum(one: Counts, other: Counts) -> Counts:
    if one is None or other is None:
        return other if one is None else one
    return tuple(map(int.__add__, one, other))


def _cells(samples: Samples) -> Iterator[tuple[int, int, int, int]]:
    return zip(samples.instruction, samples.reason, samples.all_, samples.not_issued, strict=True)


def _columns(cells: list[tuple[int, int, int, int]]) -> Samples:
    if not cells:
        return Samples()
    instruction, reason, every, idle = zip(*cells, strict=True)
    return Samples.model_construct(instruction=instruction, reason=reason, all_=every, not_issued=idle)


def _metrics(parts: list[Profile]) -> tuple[MetricInfo, ...]:
    found: dict[str, MetricInfo] = {}
    for item in chain.from_iterable(part.metrics for part in parts):
        known = found.get(item.name)
        if known is None or (item.description, item.unit) > (known.description, known.unit):
            found[item.name] = item
    return tuple(found[name] for name in sorted(found))


def _files(parts: list[Profile]) -> tuple[SourceFile, ...]:
    """By path; where a path has two texts, the greater one (any fixed choice keeps the merge commutative)."""
    found: dict[str, SourceFile] = {}
    for item in chain.from_iterable(part.files for part in parts):
        known = found.get(item.path)
        if known is None or _weight(item) > _weight(known):
            found[item.path] = item
    return tuple(found[path] for path in sorted(found))


def _weight(file: SourceFile) -> tuple[bool, str, tuple[str, ...]]:
    return file.text is not None, file.text or "", file.line_digests or ()


def _modules(parts: list[Profile]) -> tuple[Module, ...]:
    found = {item.sha256: item for part in parts for item in part.modules}
    return tuple(found[key] for key in sorted(found))


def _notes(parts: list[Profile]) -> tuple[Note, ...]:
    found = {note: None for part in parts for note in part.notes}
    return tuple(sorted(found, key=lambda note: (note.code, note.kernel or "", note.text)))
