"""Small profiles made by hand, for claims that need exact numbers."""

from __future__ import annotations

import pytest

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

REASONS = ("long_scoreboard", "wait", "selected", "not_selected", "reason_of_a_later_chip")
FILES = (
    SourceFile(path="/src/kernel.cu", text="a\nb\nc\n"),
    SourceFile(path="/src/inline.cuh"),
    SourceFile(path="default_program"),
    SourceFile(path=""),
)

Cell = tuple[int, int, int, int]
"""instruction, reason, all, not issued"""


class ProfileMaker:
    """Builds kernels and profiles from the few numbers a test is about."""

    def kernel(
        self,
        mangled: str = "_Z5triadPf",
        chains: tuple[tuple[Frame, ...], ...] = ((Frame(file=0, line=1),),),
        chain: tuple[int, ...] = (0,),
        cells: tuple[Cell, ...] = (),
        sha256: str = "00",
    ) -> Kernel:
        columns = tuple(zip(*cells, strict=True)) if cells else ((), (), (), ())
        return Kernel(
            mangled=mangled,
            name="triad(float*)",
            base_name="triad",
            code=Code(
                sha256=sha256,
                offset=tuple(16 * at for at in range(len(chain))),
                sass=tuple("NOP" for _ in chain),
                chain=chain,
                chains=chains,
            ),
            samples=Samples(instruction=columns[0], reason=columns[1], all_=columns[2], not_issued=columns[3]),
        )

    def profile(
        self, kernels: tuple[Kernel, ...], launches: tuple[tuple[int, float | None], ...] = (), name: str = "r.ncu-rep"
    ) -> Profile:
        return Profile(
            distiller="test",
            report_name=name,
            report_sha256="0" * 64,
            report_bytes=1,
            tool=Tool(name="ncu", version="2025.3.1"),
            device=Device(name="NVIDIA H200", compute_capability=(9, 0)),
            metrics=(MetricInfo(name="gpu__time_duration.sum", unit="ns"),),
            reasons=REASONS,
            files=FILES,
            kernels=kernels,
            launches=tuple(
                Launch(index=at, kernel=kernel, grid=(1, 1, 1), block=(32, 1, 1), duration_ns=time, counters=(time,))
                for at, (kernel, time) in enumerate(launches)
            ),
        )


@pytest.fixture(scope="session")
def make() -> ProfileMaker:
    """Builds profiles by hand."""
    return ProfileMaker()
