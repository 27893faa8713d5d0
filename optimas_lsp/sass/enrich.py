"""From a profile with embedded machine code to one with whole call chains and causes; the machine code goes.

Whatever is wrong with the machine code, the stall findings stay: a note says why chains or causes are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from optimas_lsp.profile.model import CauseEdge, Code, Frame, Kernel, Note, Profile
from optimas_lsp.sass import cubin as cubins
from optimas_lsp.sass.blame import Blamer, rules
from optimas_lsp.sass.chains import Chains, FileNames
from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, Cubin, CubinError
from optimas_lsp.sass.flow import Flow, build
from optimas_lsp.sass.pairing import Machine, pair

WITHHELD = "causes-withheld"
CHAINS_WITHHELD = "chains-withheld"
INCOMPLETE = "causes-incomplete"
_NOTED_SHARE, _NOTED_SAMPLES = 0.05, 10
"""From this share and number of a kernel's scoreboard samples without a cause on a note says so."""

_DAMAGED = (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""What inconsistent machine code can provoke past every check; never a reason to lose a report."""


def enrich(profile: Profile) -> Profile:
    """``profile`` with ``Code.chains`` and ``Code.causes`` filled from its modules, and without the modules.

    Kernels whose machine code is missing, unreadable or not what ran keep the report's own lines and get
    ``causes=None`` with one note each. Never raises for bad machine code.
    """
    parsed, complaints = _parse(profile)
    names = FileNames(profile.files)
    kernels: list[Kernel] = []
    notes: list[Note] = []
    for kernel in profile.kernels:
        if not kernel.code.offset:
            kernels.append(kernel)
            continue
        try:
            code, said = _kernel(profile, kernel, parsed, complaints, names)
        except CubinError as error:
            code, said = kernel.code, [_withheld(kernel, error.what)]
        except _DAMAGED as error:
            code, said = kernel.code, [_withheld(kernel, f"its machine code is inconsistent ({type(error).__name__})")]
        kernels.append(kernel.model_copy(update={"code": code}))
        notes += said
    return profile.model_copy(
        update={
            "kernels": tuple(kernels),
            "files": tuple(names.files),
            "modules": (),
            "notes": (*profile.notes, *notes),
        }
    )


def _parse(profile: Profile) -> tuple[list[Cubin], list[str]]:
    found: list[Cubin] = []
    complaints: list[str] = []
    for module in profile.modules:
        try:
            found.append(cubins.parse(module.elf))
        except CubinError as error:
            complaints.append(error.what)
    return found, complaints


def _withheld(kernel: Kernel, why: str) -> Note:
    return Note(
        code=WITHHELD,
        text=f"{kernel.base_name}: the stalls are shown where they were sampled, their causes are not known: {why}",
        kernel=kernel.mangled,
    )


def _kernel(
    profile: Profile, kernel: Kernel, parsed: list[Cubin], complaints: list[str], names: FileNames
) -> tuple[Code, list[Note]]:
    if complaints and not parsed:
        raise CubinError("; ".join(dict.fromkeys(complaints)))
    machine = pair(kernel, parsed)
    places = [machine.first + offset // INSTRUCTION_BYTES for offset in kernel.code.offset]
    count = len(machine.instructions)
    executed = _whole(kernel.code.executed, places, count)
    flow = build(machine.instructions, machine.section, executed)
    code, notes = _chains(kernel, machine, flow, names, places)
    causes = _causes(profile, kernel, machine, flow, places)
    notes += _incomplete(profile, kernel, machine, causes)
    return code.model_copy(update={"causes": causes}), notes


def _incomplete(profile: Profile, kernel: Kernel, machine: Machine, causes: Sequence[CauseEdge]) -> list[Note]:
    """A note where a noticeable part of the scoreboard stalls found no cause, with what could not be read."""
    explained = {(edge.consumer, edge.reason) for edge in causes}
    total = missing = 0
    columns = zip(kernel.samples.instruction, kernel.samples.reason, kernel.samples.all_, strict=True)
    for column, reason, number in columns:
        rule = rules().get(profile.reasons[reason])
        if rule is not None and rule.rule == "scoreboard":
            total += number
            missing += number if (column, reason) not in explained else 0
    if missing < max(_NOTED_SAMPLES, _NOTED_SHARE * total):
        return []
    unprinted = sum(text in ("", "N/A") for text in kernel.code.sass)
    unknown = sorted({each.base for each in machine.instructions if not each.semantics.known})
    why = [f"{unprinted} of {len(kernel.code.sass)} instructions cannot be decoded"] if unprinted else []
    why += [f"the opcodes {', '.join(unknown[:5])} are unknown"] if unknown else []
    text = f"{kernel.base_name}: {100 * missing / total:.0f} % of the scoreboard stalls have no known cause"
    return [Note(code=INCOMPLETE, text=f"{text}: {' and '.join(why)}" if why else text, kernel=kernel.mangled)]


def _whole(column: Sequence[int] | None, places: list[int], count: int) -> list[int] | None:
    """A report column spread over the whole section; what the report left out was not executed."""
    if column is None:
        return None
    spread = [0] * count
    for place, value in zip(places, column, strict=True):
        if 0 <= place < count:
            spread[place] = value
    return spread


def _chains(
    kernel: Kernel, machine: Machine, flow: Flow, names: FileNames, places: list[int]
) -> tuple[Code, list[Note]]:
    if machine.table is None:
        if not any(index >= 0 for index in kernel.code.chain):
            return kernel.code, []
        text = (
            f"{kernel.base_name}: lines are shown without the calls they were inlined through: {machine.why_no_lines}"
        )
        return kernel.code, [Note(code=CHAINS_WITHHELD, text=text, kernel=kernel.mangled)]
    finder = Chains(machine, machine.table, flow, names, kernel.base_name)
    index_of: dict[tuple[Frame, ...], int] = {}
    column: list[int] = []
    for place, own in zip(places, kernel.code.chain, strict=True):
        if 0 <= place < len(machine.instructions):
            frames = finder.at(place)
        else:  # a function outside the kernel's section: what the report says
            frames = kernel.code.chains[own] if own >= 0 else ()
        column.append(index_of.setdefault(frames, len(index_of)) if frames else -1)
    return (
        kernel.code.model_copy(update={"chain": tuple(column), "chains": tuple(index_of), "chains_from": "cubin"}),
        [],
    )


def _causes(profile: Profile, kernel: Kernel, machine: Machine, flow: Flow, places: list[int]) -> tuple[CauseEdge, ...]:
    count = len(machine.instructions)
    column_of = {place: column for column, place in enumerate(places)}
    samples: dict[int, dict[str, int]] = {}
    numbers = {name: number for number, name in enumerate(profile.reasons)}
    columns = zip(kernel.samples.instruction, kernel.samples.reason, kernel.samples.all_, strict=True)
    for column, reason, number in columns:
        if 0 <= places[column] < count:
            samples.setdefault(places[column], {})[profile.reasons[reason]] = number
    blamer = Blamer(
        machine.instructions,
        flow,
        executed=_whole(kernel.code.executed, places, count),
        thread_executed=_whole(kernel.code.thread_executed, places, count),
        samples=samples,
    )
    return tuple(
        edge.model_copy(update={"consumer": column_of[consumer], "producer": column_of[edge.producer]})
        for consumer in sorted(samples)
        for reason in samples[consumer]
        for edge in blamer.causes(consumer, reason, numbers[reason])
        if edge.producer in column_of
    )
