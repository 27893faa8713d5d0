"""Whether a profile read from outside keeps the promises of the model, so that no other room need doubt an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optimas_lsp.profile.model import Code, Kernel, Profile


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


def _kernel(profile: Profile, kernel: Kernel) -> Iterator[str]:
    code, samples = kernel.code, kernel.samples
    size = len(code.offset)
    yield from _code(profile, code, size)
    for name, column in (("reason", samples.reason), ("all", samples.all_), ("not_issued", samples.not_issued)):
        yield from _length(f"samples.{name}", column, len(samples.instruction))
    yield from _below("samples.instruction", samples.instruction, size)
    yield from _below("samples.reason", samples.reason, len(profile.reasons))
    yield from _below("samples.all", samples.all_, None)
    yield from _below("samples.not_issued", samples.not_issued, None)
    if len(set(zip(samples.instruction, samples.reason, strict=False))) != len(samples.instruction):
        yield "samples: a pair of instruction and reason occurs twice"


def _code(profile: Profile, code: Code, size: int) -> Iterator[str]:
    columns: list[tuple[str, Sequence[object]]] = [("sass", code.sass), ("chain", code.chain)]
    columns += [(f"metrics[{name}]", values) for name, values in code.metrics.items()]
    columns += [(n, c) for n, c in (("executed", code.executed), ("thread_executed", code.thread_executed)) if c]
    for name, column in columns:
        yield from _length(f"code.{name}", column, size)
    if any(after <= before for before, after in zip(code.offset, code.offset[1:], strict=False)):
        yield "code.offset: not ascending"
    yield from _below("code.chain", code.chain, len(code.chains), least=-1)
    for at, chain in enumerate(code.chains):
        yield from _below(f"code.chains[{at}].file", [frame.file for frame in chain], len(profile.files), least=-1)
    for edge in code.causes or ():
        yield from _below("code.causes", (edge.consumer, edge.producer), size)
        yield from _below("code.causes.reason", (edge.reason,), len(profile.reasons))


def _length(name: str, column: Sequence[object], size: int) -> Iterator[str]:
    if len(column) != size:
        yield f"{name}: {len(column)} entries where {size} belong"


def _below(name: str, column: Sequence[int], end: int | None, least: int = 0) -> Iterator[str]:
    if not column:
        return
    if end is not None and max(column) >= end:
        yield f"{name}: {max(column)} is not below {end}"
    if min(column) < least:
        yield f"{name}: {min(column)} is below {least}"
