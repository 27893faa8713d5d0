"""Whether a profile read from outside keeps the promises of the model, so that no other room need doubt an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optimas_lsp.profile.model import Code, Kernel, Profile

MOST = 2**63
"""No count, offset or sum reaches this: profilers count in 64 bits, and floats must hold what is computed from it."""

LARGEST = 1e100
"""No measured number reaches this; products of three such numbers are still finite."""

DEEPEST = 1000
"""Frames of an inline chain; compilers stop long before."""

MOST_LINES = 2**31

ROUNDED = 1e-3
"""What rounding may add to a share."""


def first_flaw(profile: Profile) -> str | None:
    """The first broken promise in words, e.g. ``kernels[0].code.chain: 7 is not below 3``; None when there is none."""
    return next(_flaws(profile), None)


def _flaws(profile: Profile) -> Iterator[str]:
    for at, kernel in enumerate(profile.kernels):
        for flaw in _kernel(profile, kernel):
            yield f"kernels[{at}].{flaw}"
    for at, launch in enumerate(profile.launches):
        place = f"launches[{at}]"
        yield from _below(f"{place}.kernel", (launch.kernel,), len(profile.kernels))
        yield from _below(f"{place}.rules", launch.rules, len(profile.rules))
        yield from _length(f"{place}.counters", launch.counters, len(profile.metrics))
        yield from _below(f"{place}.grid", launch.grid, MOST)
        yield from _below(f"{place}.block", launch.block, MOST)
        yield from _below(f"{place}.samples", (launch.samples_total, launch.samples_not_issued), MOST)
        yield from _finite(f"{place}.duration_ns", (launch.duration_ns,), 0.0)
        yield from _finite(f"{place}.counters", launch.counters)
    attributes = profile.device.attributes
    yield from _finite("device.attributes", [each for each in attributes.values() if not isinstance(each, str)])
    yield from _finite("rules.speedup_percent", [each.speedup_percent for each in profile.rules])


def _kernel(profile: Profile, kernel: Kernel) -> Iterator[str]:
    code, samples = kernel.code, kernel.samples
    yield from _finite("sampling_interval_ns", (kernel.sampling_interval_ns,), 0.0)
    size = len(code.offset)
    yield from _code(profile, code, size)
    for name, column in (("reason", samples.reason), ("all", samples.all_), ("not_issued", samples.not_issued)):
        yield from _length(f"samples.{name}", column, len(samples.instruction))
    yield from _below("samples.instruction", samples.instruction, size)
    yield from _below("samples.reason", samples.reason, len(profile.reasons))
    yield from _below("samples.all", samples.all_, MOST)
    yield from _below("samples.not_issued", samples.not_issued, MOST)
    if len(set(zip(samples.instruction, samples.reason, strict=False))) != len(samples.instruction):
        yield "samples: a pair of instruction and reason occurs twice"


def _code(profile: Profile, code: Code, size: int) -> Iterator[str]:
    counts = [
        (n, c) for n, c in (("executed", code.executed), ("thread_executed", code.thread_executed)) if c is not None
    ]
    sums = [(f"metrics[{name}]", values) for name, values in code.metrics.items()]
    columns: list[tuple[str, Sequence[object]]] = [("sass", code.sass), ("chain", code.chain), *counts, *sums]
    for name, column in columns:
        yield from _length(f"code.{name}", column, size)
    for name, column in counts:
        yield from _below(f"code.{name}", column, MOST)
    for name, column in sums:
        yield from _below(f"code.{name}", column, MOST, least=-MOST)
    if any(after <= before for before, after in zip(code.offset, code.offset[1:], strict=False)):
        yield "code.offset: not ascending"
    yield from _below("code.offset", code.offset, MOST, least=-MOST)  # a function called may lie before the kernel
    yield from _below("code.chain", code.chain, len(code.chains), least=-1)
    for at, chain in enumerate(code.chains):
        yield from _below(f"code.chains[{at}].file", [frame.file for frame in chain], len(profile.files), least=-1)
        yield from _below(f"code.chains[{at}].line", [frame.line for frame in chain], MOST_LINES)
        if len(chain) > DEEPEST:
            yield f"code.chains[{at}]: {len(chain)} frames, more than {DEEPEST}"
    for edge in code.causes or ():
        yield from _below("code.causes", (edge.consumer, edge.producer), size)
        yield from _below("code.causes.reason", (edge.reason,), len(profile.reasons))
        if not 0 <= edge.share <= 1 + ROUNDED:  # neither is NaN
            yield f"code.causes.share: {edge.share} is no share"


def _length(name: str, column: Sequence[object], size: int) -> Iterator[str]:
    if len(column) != size:
        yield f"{name}: {len(column)} entries where {size} belong"


def _below(name: str, column: Sequence[int], end: int | None, least: int = 0) -> Iterator[str]:
    if not column:
        return
    if end is not None and max(column) >= end:
        yield f"{name}: {_said(max(column))} is not below {end}"
    if min(column) < least:
        yield f"{name}: {_said(min(column))} is below {least}"


def _said(number: int) -> str:
    return str(number) if abs(number) < 10 * MOST else "a number of more than 64 bits"


def _finite(name: str, column: Sequence[float | None], least: float = -LARGEST) -> Iterator[str]:
    for number in column:
        if number is not None and not least <= number <= LARGEST:  # nor is NaN
            yield f"{name}: {number} is no measurement"
