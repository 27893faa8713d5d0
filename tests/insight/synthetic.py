"""Small profiles built by hand: one kernel, a few instructions, chosen samples."""

from __future__ import annotations

from optimas_lsp.profile.model import (
    Code,
    Device,
    Frame,
    Kernel,
    Launch,
    MetricInfo,
    Profile,
    Samples,
    SourceFile,
    Tool,
)

REASONS = ("long_scoreboard", "wait", "selected", "not_selected", "barrier", "quantum_flux")
FILES = (
    SourceFile(path="/home/ada/app/kernel.cu", text="__global__ void k() {}\n"),
    SourceFile(path="/usr/local/cuda/include/cub/block.cuh"),
    SourceFile(path="<string>"),
)
USER, LIBRARY, GENERATED = 0, 1, 2

Row = tuple[int, str, int, int]
"""(instruction, reason, all samples, not-issued samples)."""


def kernel(chains: list[tuple[Frame, ...] | None], rows: list[Row], name: str = "k") -> Kernel:
    """A kernel with one instruction a chain (None: no line information) and the samples of ``rows``."""
    known = [chain for chain in chains if chain is not None]
    index = iter(range(len(known)))
    return Kernel(
        mangled=f"_Z1{name}v",
        name=f"{name}()",
        base_name=name,
        code=Code(
            sha256="0" * 64,
            offset=tuple(16 * at for at in range(len(chains))),
            sass=tuple("NOP" for _ in chains),
            chain=tuple(-1 if chain is None else next(index) for chain in chains),
            chains=tuple(known),
        ),
        samples=Samples(
            instruction=tuple(row[0] for row in rows),
            reason=tuple(REASONS.index(row[1]) for row in rows),
            all_=tuple(row[2] for row in rows),
            not_issued=tuple(row[3] for row in rows),
        ),
    )


def profile(
    *kernels: Kernel,
    durations: list[float | None] | None = None,
    counters: dict[str, float] | None = None,
    reasons: tuple[str, ...] = REASONS[:5],
) -> Profile:
    """A profile with one launch a kernel; ``counters`` are the same for every launch."""
    counters = counters or {}
    times = durations or [1000.0] * len(kernels)
    return Profile(
        distiller="test",
        report_name="k.ncu-rep",
        report_sha256="1" * 64,
        report_bytes=1,
        tool=Tool(name="ncu", version="2025.3.1"),
        device=Device(name="NVIDIA H200", compute_capability=(9, 0)),
        metrics=tuple(MetricInfo(name=name, unit="") for name in counters),
        reasons=reasons,
        files=FILES,
        kernels=kernels,
        launches=tuple(
            Launch(
                index=at,
                kernel=at,
                grid=(1, 1, 1),
                block=(128, 1, 1),
                duration_ns=times[at],
                counters=tuple(counters.values()),
            )
            for at in range(len(kernels))
        ),
    )


def line(number: int, file: int = USER) -> tuple[Frame, ...]:
    """The chain of an instruction that was not inlined."""
    return (Frame(file=file, line=number),)
