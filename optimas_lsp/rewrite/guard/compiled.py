"""The rules for after compiling: the kernels a launch finds are those it found before, and they fit the GPU."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from optimas_lsp.profile.model import Device, Frozen
from optimas_lsp.rewrite.guard.machine_code import KernelFacts, kernels_of
from optimas_lsp.rewrite.guard.model import Allowance, RuleVerdict, Status

COMPILED_RULES: dict[str, str] = {
    "entry-points": "the compiled program has the same kernels",
    "unchanged-code": "the machine code of at least one kernel differs",
    "parameter-layout": "offsets and sizes of every kernel's parameters are the same",
    "shared-memory-limit": "shared memory fits the GPU",
    "register-limit": "a block's registers fit the GPU at the launches that were profiled",
    "thread-limit": "launch bounds allow the blocks that were launched",
    "new-spills": "register spills and local memory that are new are looked at by the proof",
}
"""Id and demand of each; all refuse but ``new-spills``, which flags."""

_WARP = 32
_REGISTER_STEP = 8
"""Registers are given to a thread in steps of this many."""

_Facts = Mapping[str, KernelFacts]
_Problems = Iterable[str]


class DeviceLimits(Frozen):
    """What one block may use: registers, bytes of static shared memory, threads."""

    registers: int = 65_536
    shared: int = 49_152
    threads: int = 1_024

    @classmethod
    def of(cls, device: Device) -> DeviceLimits:
        """The limits of a profiled GPU; where the report does not say, those common since Volta."""
        plain = cls()

        def attribute(name: str, default: int) -> int:
            value = device.attributes.get(name)
            return int(value) if isinstance(value, float) and value > 0 else default

        return cls(
            registers=attribute("max_registers_per_block", plain.registers),
            shared=attribute("max_shared_memory_per_block", plain.shared),
            threads=attribute("max_threads_per_block", plain.threads),
        )


def compiled_rules(
    before: bytes | Sequence[bytes],
    after: bytes | Sequence[bytes],
    device: Device | DeviceLimits | None = None,
    *,
    blocks: Mapping[str, int] | None = None,
    allow: Collection[Allowance] = (),
) -> tuple[RuleVerdict, ...]:
    """Compare the cubins of the original and of the candidate, one architecture each.

    ``blocks`` gives the threads of the largest block launched, by mangled name of the kernel; without it the rules on
    registers and threads look at launch bounds alone. Raises CubinError for what is no cubin.
    """
    old, new = _facts(before), _facts(after)
    limits = device if isinstance(device, DeviceLimits) else DeviceLimits.of(device) if device else DeviceLimits()
    launched = blocks or {}
    checks: dict[str, Callable[[], _Problems]] = {
        "entry-points": lambda: _entries(old, new, allow),
        "unchanged-code": lambda: _same(old, new),
        "parameter-layout": lambda: _layouts(old, new),
        "shared-memory-limit": lambda: _shared(new, limits),
        "register-limit": lambda: _registers(new, limits, launched),
        "thread-limit": lambda: _threads(old, new, limits, launched),
        "new-spills": lambda: _spills(old, new),
    }
    return tuple(_verdict(name, "flag" if name == "new-spills" else "fail", check()) for name, check in checks.items())


def _facts(cubins: bytes | Sequence[bytes]) -> dict[str, KernelFacts]:
    found: dict[str, KernelFacts] = {}
    for cubin in [cubins] if isinstance(cubins, bytes) else cubins:
        found |= kernels_of(cubin)
    return found


def _verdict(name: str, status: Status, problems: _Problems) -> RuleVerdict:
    found = list(problems)
    return RuleVerdict(id=name, status=status if found else "pass", message="; ".join(found[:6]))


def _entries(old: _Facts, new: _Facts, allow: Collection[Allowance]) -> _Problems:
    for name in sorted(old.keys() - new.keys()):
        yield f"the kernel {name} is gone"
    if "kernels" not in allow:
        for name in sorted(new.keys() - old.keys()):
            yield f"the kernel {name} is new"


def _same(old: _Facts, new: _Facts) -> _Problems:
    if old and {name: facts.code for name, facts in old.items()} == {name: facts.code for name, facts in new.items()}:
        yield "the compiler makes the same machine code of the new text: nothing changes but the spelling"


def _layouts(old: _Facts, new: _Facts) -> _Problems:
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        if before.parameters != after.parameters or before.parameter_bytes != after.parameter_bytes:
            yield f"{name} had parameters {_layout(before)} and has {_layout(after)}"


def _layout(facts: KernelFacts) -> str:
    return "(" + ", ".join(f"{size} bytes at {offset}" for offset, size in facts.parameters) + ")"


def _shared(new: _Facts, limits: DeviceLimits) -> _Problems:
    for name, facts in sorted(new.items()):
        if facts.shared > limits.shared:
            yield f"{name} needs {facts.shared} bytes of static shared memory a block; the GPU has {limits.shared}"


def _registers(new: _Facts, limits: DeviceLimits, blocks: Mapping[str, int]) -> _Problems:
    for name, facts in sorted(new.items()):
        threads = blocks.get(name, facts.maximum_threads or 0)
        each = -(-facts.registers // _REGISTER_STEP) * _REGISTER_STEP
        needed = each * -(-threads // _WARP) * _WARP
        if needed > limits.registers:
            yield f"{name} needs {needed} registers for a block of {threads} threads; the GPU has {limits.registers}"


def _threads(old: _Facts, new: _Facts, limits: DeviceLimits, blocks: Mapping[str, int]) -> _Problems:
    for name, facts in sorted(new.items()):
        bound = facts.maximum_threads
        if bound is None:
            continue
        before = old[name].maximum_threads if name in old else None
        if bound > limits.threads:
            yield f"{name} is bound to {bound} threads a block; the GPU has {limits.threads}"
        elif name in blocks and blocks[name] > bound:
            yield f"{name} is launched with {blocks[name]} threads a block and is bound to {bound}"
        elif name not in blocks and bound < (before if before is not None else limits.threads):
            yield f"{name} is newly bound to {bound} threads a block, and it is not known how it is launched"


def _spills(old: _Facts, new: _Facts) -> _Problems:
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        if after.spills is not None and after.spills > (before.spills or 0):
            yield f"{name} had {before.spills or 0} spilling instructions and has {after.spills}"
        elif after.local > before.local:
            yield f"{name} had {before.local} bytes of local memory a thread and has {after.local}"
