"""What a proof measured, as typed data and as a sentence."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from optimas_lsp.insight.changes import KernelComparison
from optimas_lsp.insight.sentences import duration
from optimas_lsp.rewrite.outcome import Proof, Rewriting

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Read(BaseModel):
    """Part of a proof's outcome; what this version does not know is left aside."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Ratio(_Read):
    """Medians of both versions in one unit, their ratio and its 95 % bootstrap interval."""

    baseline: Positive
    candidate: Positive
    speedup: Positive
    low: Positive
    high: Positive


class Series(_Read):
    """Every run of one version."""

    kernel_ns: tuple[float, ...] = ()
    gpu_ns: tuple[float, ...] = ()
    program_s: tuple[float, ...] = ()


class Runs(_Read):
    """Every run of both versions."""

    baseline: Series = Series()
    candidate: Series = Series()


class InputTiming(_Read):
    """What was timed on one of several inputs."""

    kernel_ns: Ratio | None = None
    program_s: Ratio | None = None
    pairs: int = 0


class Timing(InputTiming):
    """Interleaved runs of the original and the candidate on the input that decides, and on others where there were.

    ``level`` is that of the intervals; ``warnings`` say what disturbed the measurement.
    """

    input: str = ""
    runs: Runs = Runs()
    level: Positive = 0.95
    warnings: tuple[str, ...] = ()
    inputs: dict[str, InputTiming] = Field(default={})

    @property
    def others(self) -> dict[str, InputTiming]:
        """The inputs beside the one that decides."""
        return {name: each for name, each in self.inputs.items() if name != self.input}


class Gate(_Read):
    """One rung of the proof."""

    name: str
    status: str
    sentence: str


class Gpu(_Read):
    """The GPU that a proof ran on."""

    name: str = ""


class Machine(_Read):
    """Where a proof ran."""

    gpu: Gpu | None = None


class Measured(_Read):
    """What a proof says in detail. ``recorded`` says where and when, where it was not run just now."""

    verdict: str | None = None
    gates: tuple[Gate, ...] = ()
    not_checked: tuple[str, ...] = ()
    timing: Timing | None = None
    recorded: str | None = None
    machine: Machine = Field(default=Machine())


NOTHING = Measured()

_IDENTICAL = re.compile(r"identical bit for bit on (\d+) input")

MOST_LEFT = 10.0
"""A gain of this and more that the roofline leaves says little of what can be had, and is not told."""


def measured(proof: Proof | None) -> Measured:
    """The proof's details; empty where there are none that this version reads."""
    try:
        return NOTHING if proof is None else Measured.model_validate(proof.details)
    except ValidationError:
        return NOTHING


def effect(rewriting: Rewriting, changes: int = 1, again: KernelComparison | None = None) -> str:
    """What the rewrite, with all its ``changes`` together, did to the run time, or why that is not known.

    ``again`` is the kernel in the profiles of both versions, where there is one after the change.
    """
    proof = rewriting.proof
    if proof is None:
        return f"It was not proven. {_profiled(again)}" if again else "Not measured: nothing came as far as a proof."
    found = measured(proof)
    timing = found.timing
    kernel = timing.kernel_ns if timing is not None else None
    if timing is None or kernel is None:
        return f"Not timed: {proof.sentence}. {_profiled(again)}".rstrip()
    device = f", {found.machine.gpu.name}" if found.machine.gpu is not None and found.machine.gpu.name else ""
    every = f", for {'both' if changes == 2 else f'all {changes}'} changes together" if changes > 1 else ""
    where = f"{timing.pairs} pairs of runs on input {timing.input or 'unknown'}{device}"
    interval = f"{100 * timing.level:g} % interval of the ratio {_interval(kernel)}, {where}"
    before, after = duration(kernel.baseline), duration(kernel.candidate)
    took = f"All launches of a run took {before} together before and {after} after"
    parts = [f"{took}: {_factor(kernel)} ({interval}){every}."]
    for name, each in timing.others.items():
        if each.kernel_ns is not None:
            other = each.kernel_ns
            parts.append(f"On input {name}: {_factor(other)} ({_interval(other)}).")
    program = timing.program_s
    if program is not None:
        noise = program.low <= 1 <= program.high
        said = "the same within the noise" if noise else _factor(program)
        parts.append(f"The whole program: {said} ({_interval(program)}).")
    parts += _ceiling(rewriting, kernel)
    parts += _results(found)
    parts += [f"Beware: {'; '.join(timing.warnings)}."] if timing.warnings else []
    if proof.state != "proven":
        parts.append(f"The outcome is {proof.sentence.partition(': kernel time ')[0]}.")
    if found.recorded and found.recorded not in " ".join(parts):
        parts.append(f"These figures were {found.recorded}.")
    return " ".join(parts)


def _results(found: Measured) -> list[str]:
    """That all bits were compared and are the same, where the proof says so."""
    held = [each.sentence for each in found.gates if each.name == "compare" and each.status == "pass"]
    same = [match for each in held if (match := _IDENTICAL.search(each)) is not None]
    return [f"The results are identical bit for bit on {each[1]} input{'s' * (each[1] != '1')}." for each in same]


def _factor(ratio: Ratio) -> str:
    if ratio.low > 1:
        return f"{ratio.speedup:.3f} times shorter"
    return f"{1 / ratio.speedup:.3f} times longer" if ratio.high < 1 else "the same within the noise"


def _interval(ratio: Ratio) -> str:
    """The interval of the factor that ``_factor`` says."""
    low, high = (1 / ratio.high, 1 / ratio.low) if ratio.high < 1 else (ratio.low, ratio.high)
    return f"{low:.3f} to {high:.3f}"


def _profiled(again: KernelComparison | None) -> str:
    """The time per launch under the profiler."""
    if again is None or again.time.before is None or again.time.after is None:
        return ""
    said = {"down": "shorter", "up": "longer", "same": "the same within the noise"}.get(again.time.moved, "unknown")
    return (
        f"Under the profiler a launch took {duration(again.time.before)} before and {duration(again.time.after)} after "
        f"(noise ± {duration(again.time.noise)}): {said}."
    )


def _ceiling(rewriting: Rewriting, kernel: Ratio) -> list[str]:
    roofline = rewriting.analysis.roofline if rewriting.analysis is not None else None
    most = roofline.ceiling.work_speedup if roofline is not None and roofline.ceiling is not None else None
    if most is None or kernel.low <= 1:
        return []
    if kernel.low > most:
        return [f"The roofline allows {most:.3g} times for the same DRAM bytes and arithmetic: the change needs fewer."]
    left = most / kernel.speedup
    more = f"; up to {left:.3g} times of that is left" if 1.005 < left < MOST_LEFT else ""
    return [f"The roofline allows {most:.3g} times at most for the same DRAM bytes and arithmetic{more}."]
