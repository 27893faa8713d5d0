"""Reads a slice of the launches of an Nsight Compute report, through ncu_report.

Cost decides the shape: fetching a launch leaks megabytes and looking a counter up by name takes microseconds, so each
launch is fetched once, each counter looked up once, counters described once, code resolved once a kernel, and a stall
reason that no sample has is not looked into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from optimas_lsp import __version__
from optimas_lsp.profile.job import FEWEST, Job
from optimas_lsp.profile.model import Launch, Profile, Tool
from optimas_lsp.profile.readers.code import Listing, entry, from_cubin, from_listing
from optimas_lsp.profile.readers.container import Source, open_container
from optimas_lsp.profile.readers.elf import code_of
from optimas_lsp.profile.readers.gather import Gathering, KernelSums, Names
from optimas_lsp.profile.readers.native import NOT_KERNELS, load, native, tool_notes, unreadable_launch
from optimas_lsp.profile.readers.rules import rule_result
from optimas_lsp.profile.readers.values import ATTRIBUTE, device, dimensions, duration_ns, first, interval_ns

STALL = "smsp__pcsamp_warps_issue_stalled_"
NOT_ISSUED = "_not_issued"
_TABLES = ("breakdown:", "group:")
"""Strings that list other counters."""

_NO_SUM = re.compile(r"^derived__(avg|derivative|pct)_|_nway$|_type$|^smsp__pcsamp_")
"""Per-instruction values that may not be added over launches: averages, conflict degrees, kinds of access."""

_TOTALLED = re.compile(r"smsp__sass_|smsp__branch_|memory_l[12]_|derived__memory_l[12]_")
"""Counters whose value is the sum of their instances, so that 0 saves looking into them."""

_SMALLEST_ADDRESS = 1 << 24
"""Correlation ids below this are block sizes, register counts and the like; code is loaded far above."""

Role = Literal["counter", "stall", "per-instruction", "attribute", "none"]
ByRole = dict[Role, dict[str, Any]]


class Reader:
    """One report, opened once; :meth:`read` gathers slices of it and :meth:`take` hands them over as one profile."""

    def __init__(self, job: Job) -> None:
        """Raises ReportError when the report cannot be read."""
        self._job = job
        self._container = open_container(Path(job.path), job.shown)
        self._places = load(Path(job.path), job.shown, self._container)
        self._native: Any = native(job.shown)
        self._severities = {int(item): item.name for item in self._native.MsgType}
        self._speedups = {int(item): item.name for item in self._native.SpeedupType}
        self._roles: dict[str, Role] = {}
        self._digests: dict[int, str] = {}
        self._all = Gathering()
        self._results = self._container.results
        self._start = 0
        self._first: dict[str, int] = {}
        for at, result in enumerate(self._results):
            self._first.setdefault(result.mangled, at)

    @property
    def launches(self) -> int:
        """How many results the report holds."""
        return len(self._places)

    def read(self, start: int, stop: int, progress: Callable[[int, bool], None], full: Callable[[], bool]) -> int:
        """Gather results ``start`` to ``stop`` (exclusive); returns the one it stopped before.

        ``progress`` is told (read so far, last?). When ``full`` says so, but not before ``FEWEST`` launches, the rest
        is left unread.
        """
        self._start = start
        for index in range(start, stop):
            section, at = self._places[index]
            action = section.action_by_idx(at)
            if action.workload_type() == self._native.IAction.WorkloadType_KERNEL:
                self._launch(index, action)
            else:
                self._all.notes.append(NOT_KERNELS)
            last = index + 1 == stop or (index + 1 - start >= FEWEST and full())
            progress(index - start + 1, last)
            if last:
                return index + 1
        return stop

    def take(self) -> Profile | None:
        """The profile of all that was gathered since the last time, None if that is nothing."""
        if not self._all.launches and not self._all.notes:
            return None
        tool = Tool(name="ncu", version=self._container.ncu_version)
        self._all.notes += tool_notes(tool.version)
        job = self._job
        part = self._all.freeze(name=job.name, sha256=job.sha256, size=job.size, tool=tool, distiller=__version__)
        self._all = Gathering()
        return part

    def _sorted(self, index: int, action: Any) -> tuple[dict[str, Any], ByRole, list[float | None]]:
        """Every counter of a launch by name; those with a role of their own by role; the row of plain values.

        There are two thousand names: one pass, one look-up each.
        """
        names = action.metric_names()
        if not names:
            raise unreadable_launch(self._job.shown, index, self._container)
        metrics: dict[str, Any] = {}
        by_role: ByRole = {"stall": {}, "per-instruction": {}, "attribute": {}}
        row: list[float | None] = [None] * len(self._all.metrics)
        for name in names:
            role = self._roles.get(name)
            if role == "none" or (role == "attribute" and self._all.launches):
                continue
            metric = metrics[name] = action.metric_by_name(name)
            if role is None:
                role = self._role(name, metric)
                if role != "counter" or metric.num_instances():  # without instances, another kernel's will tell
                    self._roles[name] = role
            if role in by_role:
                by_role[role][name] = metric
            if role in ("counter", "per-instruction"):
                at = self._all.column(name, metric)
                row += [None] * (at + 1 - len(row))
                if metric.has_value():
                    value = metric.as_double()
                    row[at] = (
                        value if value - value == 0.0 else None
                    )  # neither NaN nor infinite: a hundred thousand times
        return metrics, by_role, row

    def _launch(self, index: int, action: Any) -> None:
        metrics, by_role, row = self._sorted(index, action)
        if not self._all.launches:
            self._all.device = device(by_role["attribute"], self._native.IMetric.ValueKind_STRING)
        names = self._names(action)
        key, kernel = self._kernel(index, action, metrics, names, by_role)
        every, idle = _add_samples(action, kernel, by_role["stall"])
        for name, metric in by_role["per-instruction"].items():
            if metric.num_instances():
                kernel.counts.setdefault(name, {})
                if metric.as_uint64() or not _TOTALLED.match(name):
                    for offset, value in _instances(action, kernel.listing, metric):
                        kernel.count(name, offset, value)
        interval = interval_ns(metrics)
        kernel.intervals_ns += [interval] if interval is not None else []
        rules = (rule_result(item, self._severities, self._speedups) for item in action.rule_results())
        launch = Launch(
            index=index,
            kernel=0,
            grid=dimensions(metrics, "launch__grid_dim_"),
            block=dimensions(metrics, "launch__block_dim_"),
            duration_ns=duration_ns(metrics),
            counters=(),
            rules=tuple(self._all.rule(item) for item in rules if item is not None),
            samples_total=every,
            samples_not_issued=idle,
            process=self._results[index].process if self._in_order(index, names) else "",
            stream=first(metrics, "launch__stream_id"),
        )
        self._all.launches.append((launch, key))
        self._all.rows.append(row)

    def _role(self, name: str, metric: Any) -> Role:
        if name.startswith(STALL):
            return "stall"
        if name.startswith(ATTRIBUTE):
            return "attribute"
        if name.startswith(_TABLES) or metric.kind() == self._native.IMetric.ValueKind_STRING:
            return "none"
        ids = metric.correlation_ids() if metric.num_instances() and metric.has_correlation_ids() else None
        if ids is not None and ids.as_uint64(0) >= _SMALLEST_ADDRESS and not _NO_SUM.search(name):
            return "per-instruction"
        return "counter"

    def _names(self, action: Any) -> Names:
        kind = self._native.IAction
        mangled, demangled, base = (
            action.name(at) or "" for at in (kind.NameBase_MANGLED, kind.NameBase_DEMANGLED, kind.NameBase_FUNCTION)
        )
        mangled = mangled or demangled or base or "(unnamed)"
        return Names(mangled, demangled or mangled, base or demangled or mangled)

    def _in_order(self, index: int, names: Names) -> bool:
        return len(self._results) == len(self._places) and self._results[index].mangled == names.mangled

    def _kernel(
        self, index: int, action: Any, metrics: dict[str, Any], names: Names, by_role: ByRole
    ) -> tuple[str, KernelSums]:
        """The kernel's sums, its code resolved at its first launch.

        Launches share it when they ran the same function of the same module; where the report does not say which
        module, only when they ran at the same address. Equal code under one name is joined later, by its digest.
        """
        stated = first(metrics, "launch__function_pcs")
        source = self._container.module_of(names.mangled, stated, index if self._in_order(index, names) else None)
        base = stated or (source.functions.get(names.mangled) if source else None)
        if base is None:
            per_pc = {**by_role["per-instruction"], **by_role["stall"]}
            base = entry(action, _addresses(per_pc))
        digest = self._digest(source) if source else ""
        key = f"{names.mangled} {digest or base or index}"
        known = self._all.kernels.get(key)
        if known is None:
            code = self._code(index, action, names, source, base)
            code.module = digest or None
            known = self._all.kernels[key] = KernelSums(names, code)
            self._all.add_files(dict(action.source_files().items()))
            if source is not None and source.elf:
                self._all.modules[digest] = source
        elif index == self._first.get(names.mangled):
            # Slices may come in any order: another launch may have left resolving to this one.
            code = self._code(index, action, names, source, base)
            known.listing.sass.update(code.sass)
            known.listing.place.update(code.place)
        known.listing.base = base or 0
        return key, known

    def _code(self, index: int, action: Any, names: Names, source: Source | None, base: int | None) -> Listing:
        if base is None:
            return Listing(0)
        code = code_of(source.elf, names.mangled) if source else None
        if source is None or code is None:
            return from_listing(action, base)
        # Disassembling costs a process 0.4 s however little is asked for, so only one slice does it: the one with the
        # kernel's first launch. Merging puts its text and lines where the others have none.
        first = self._first.get(names.mangled) if self._in_order(index, names) else None
        elsewhere = first is not None and first < self._start and self._results[first].reference == source.reference
        return from_cubin(action, base, code, resolve=not elsewhere)

    def _digest(self, source: Source) -> str:
        """SHA-256 of a cubin, computed once."""
        if id(source) not in self._digests:
            self._digests[id(source)] = source.sha256  # the container keeps every source alive, so ids stay distinct
        return self._digests[id(source)]


def _instances(action: Any, code: Listing, metric: Any) -> Iterator[tuple[int, int]]:
    """(offset, value) of every instruction with a value above 0; code met for the first time is added to ``code``."""
    if not metric.has_correlation_ids():
        return
    values, addresses, base, known = metric.as_uint64, metric.correlation_ids().as_uint64, code.base, code.sass
    for at in range(metric.num_instances()):
        value = values(at)
        if value:
            offset = addresses(at) - base
            if offset not in known:
                code.add_stray(action, offset)
            yield offset, value


def _add_samples(action: Any, kernel: KernelSums, stalls: dict[str, Any]) -> tuple[int, int]:
    """Add one launch's samples; returns (all, not issued)."""
    totals = [0, 0]
    for name, metric in stalls.items():
        if metric.as_uint64():
            part = 1 if name.endswith(NOT_ISSUED) else 0
            reason = name.removeprefix(STALL).removesuffix(NOT_ISSUED)
            for offset, value in _instances(action, kernel.listing, metric):
                kernel.sample(offset, reason, part, value)
                totals[part] += value
    return totals[0], totals[1]


def _addresses(metrics: dict[str, Any]) -> set[int]:
    found: set[int] = set()
    for metric in metrics.values():
        if metric.has_correlation_ids():
            ids: Any = metric.correlation_ids()
            found.update(ids.as_uint64(at) for at in range(metric.num_instances()))
    return found
