"""Collects what the launches of one slice have in common and freezes it into a Profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from optimas_lsp.profile.model import (
    Code,
    Device,
    Frame,
    Kernel,
    Launch,
    MetricInfo,
    Module,
    Note,
    Profile,
    RuleResult,
    Samples,
    SourceFile,
    Tool,
)
from optimas_lsp.profile.readers.code import Listing
from optimas_lsp.profile.readers.container import Source

EXECUTED = "inst_executed"
THREAD_EXECUTED = "thread_inst_executed_true"


@dataclass(frozen=True, slots=True)
class Names:
    """One kernel's names: mangled, demangled with parameters, and bare."""

    mangled: str
    demangled: str
    base: str


class Described(Protocol):
    """What a counter says of itself."""

    def unit(self) -> str:
        """Its unit, empty when it has none."""
        ...

    def description(self) -> str:
        """The vendor's own words, empty when there are none."""
        ...


@dataclass
class KernelSums:
    """What is added over the launches of one kernel, by offset from its first instruction."""

    names: Names
    listing: Listing
    samples: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    """(offset, reason) → [all, not issued]."""
    counts: dict[str, dict[int, int]] = field(default_factory=dict)
    """Metric → offset → sum."""
    intervals_ns: list[float] = field(default_factory=list)

    def sample(self, offset: int, reason: str, part: int, count: int) -> None:
        """Add ``count`` samples; ``part`` 0 is all, 1 not issued."""
        self.samples.setdefault((offset, reason), [0, 0])[part] += count

    def count(self, metric: str, offset: int, value: int) -> None:
        """Add ``value`` to a per-instruction sum."""
        sums = self.counts[metric]
        sums[offset] = sums.get(offset, 0) + value

    def freeze(self, files: dict[str, int], reasons: dict[str, int]) -> Kernel:
        """The kernel with its columns in ascending order of offset."""
        offsets = sorted(self.listing.sass)
        at = {offset: row for row, offset in enumerate(offsets)}
        table: dict[tuple[Frame, ...], int] = {}
        chain: list[int] = []
        for offset in offsets:
            place = self.listing.place[offset]
            frames = None if place is None else (Frame(file=files.get(place[0], -1), line=place[1]),)
            chain.append(-1 if frames is None else table.setdefault(frames, len(table)))
        sums = {name: tuple(values.get(offset, 0) for offset in offsets) for name, values in self.counts.items()}
        cells = sorted((at[offset], reasons[reason], *pair) for (offset, reason), pair in self.samples.items())
        columns = tuple(zip(*cells, strict=True)) if cells else ((), (), (), ())
        return Kernel(
            mangled=self.names.mangled,
            name=self.names.demangled,
            base_name=self.names.base,
            code=Code(
                sha256=self.listing.sha256,
                offset=tuple(offsets),
                sass=tuple(self.listing.sass[offset] for offset in offsets),
                chain=tuple(chain),
                chains=tuple(table),
                executed=sums.pop(EXECUTED, None),
                thread_executed=sums.pop(THREAD_EXECUTED, None),
                metrics=sums,
                module=self.listing.module,
            ),
            samples=Samples(instruction=columns[0], reason=columns[1], all=columns[2], not_issued=columns[3]),
            sampling_interval_ns=max(self.intervals_ns, default=None),
        )


def readable(text: str) -> str:
    """``text`` without surrogate escapes, which JSON cannot carry: a source that is not UTF-8 is read as latin-1."""
    if text.isascii():
        return text
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _named(path: str) -> str:
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass
class Gathering:
    """The tables of one slice; every launch adds to them."""

    device: Device = Device(name="unknown", compute_capability=(0, 0))  # noqa: RUF009 - frozen
    metrics: list[MetricInfo] = field(default_factory=list)
    rows: list[list[float | None]] = field(default_factory=list)
    launches: list[tuple[Launch, str]] = field(default_factory=list)
    """Each launch with the key of its kernel in ``kernels``."""
    rules: dict[RuleResult, int] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    kernels: dict[str, KernelSums] = field(default_factory=dict)
    modules: dict[str, Source] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    _columns: dict[str, int] = field(default_factory=dict)

    def column(self, name: str, metric: Described) -> int:
        """Column of a counter in ``rows``; one met for the first time is described."""
        at = self._columns.get(name)
        if at is None:
            at = self._columns[name] = len(self.metrics)
            self.metrics.append(MetricInfo(name=name, unit=metric.unit() or "", description=metric.description() or ""))
        return at

    def rule(self, found: RuleResult) -> int:
        """Index of a rule result, each kept once."""
        return self.rules.setdefault(found, len(self.rules))

    def add_files(self, texts: dict[str, str]) -> None:
        """Add source files; of two texts of one path the greater is kept, as when slices are merged."""
        for path, text in texts.items():
            self.files[path] = max(readable(text or ""), self.files.get(path) or "") or None

    def freeze(self, *, name: str, sha256: str, size: int, tool: Tool, distiller: str) -> Profile:
        """The slices as a Profile, its tables in the order in which things were met."""
        for kernel in self.kernels.values():
            for place in kernel.listing.place.values():
                if place is not None and place[0]:
                    self.files.setdefault(place[0], None)
        file_at = {path: at for at, path in enumerate(self.files)}
        reason_at: dict[str, int] = {}
        for kernel in self.kernels.values():
            for _, reason in kernel.samples:
                reason_at.setdefault(reason, len(reason_at))
        kernel_at = {key: at for at, key in enumerate(self.kernels)}
        width = len(self.metrics)
        return Profile(
            distiller=distiller,
            report_name=name,
            report_sha256=sha256,
            report_bytes=size,
            tool=tool,
            device=self.device,
            metrics=tuple(self.metrics),
            reasons=tuple(reason_at),
            files=tuple(SourceFile(path=_named(path), text=text) for path, text in self.files.items()),
            rules=tuple(self.rules),
            kernels=tuple(kernel.freeze(file_at, reason_at) for kernel in self.kernels.values()),
            launches=tuple(
                launch.model_copy(update={"kernel": kernel_at[key], "counters": (*row, *[None] * (width - len(row)))})
                for (launch, key), row in zip(self.launches, self.rows, strict=True)
            ),
            modules=tuple(Module(sha256=key, elf=bytes(source.elf)) for key, source in self.modules.items()),
            notes=tuple(self.notes),
        )
