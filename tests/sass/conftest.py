"""Cubins of our own small kernels, and profiles made from them as a report would hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from optimas_lsp.profile.model import Code, Device, Kernel, Module, Profile, Samples, Tool
from optimas_lsp.sass import cubin as cubins
from optimas_lsp.sass import disassembler
from optimas_lsp.sass.cubin import Cubin
from optimas_lsp.sass.decode import Instruction, decode

DATA = Path(__file__).parent / "data"


@cache
def read_cubin(name: str) -> Cubin:
    """A cubin of features.cu by architecture (``sm90``), or of another source (``pipeline-sm90``)."""
    return cubins.parse((DATA / f"{name if '-sm' in name else f'features-{name}'}.cubin").read_bytes())


@cache
def read_instructions(name: str, kernel: str) -> tuple[Instruction, ...]:
    cubin = read_cubin(name)
    section = cubin.sections[kernel]
    return decode(disassembler.print_section(cubin, section), section.code, cubin.architecture)


def make_profile(
    name: str,
    kernel: str,
    *,
    stalls: dict[tuple[int, str], int],
    executed: dict[int, int] | None = None,
    sass: tuple[str, ...] | None = None,
    modules: tuple[bytes, ...] | None = None,
) -> Profile:
    """A profile of ``kernel``: ``stalls`` by (offset, reason), ``executed`` by offset (others: once)."""
    text = sass if sass is not None else tuple(i.text for i in read_instructions(name, kernel))
    reasons = tuple(dict.fromkeys(reason for _, reason in stalls))
    order = sorted(stalls, key=lambda key: (key[0], reasons.index(key[1])))
    counts = executed or {}
    elfs = modules if modules is not None else (read_cubin(name).elf,)
    return Profile(
        distiller="test",
        report_name="made.ncu-rep",
        report_sha256="0" * 64,
        report_bytes=1,
        tool=Tool(name="ncu", version="2025.3.1"),
        device=Device(name="none", compute_capability=(9, 0)),
        metrics=(),
        reasons=reasons,
        files=(),
        kernels=(
            Kernel(
                mangled=kernel,
                name=kernel,
                base_name=kernel,
                code=Code(
                    sha256="0" * 64,
                    offset=tuple(16 * k for k in range(len(text))),
                    sass=text,
                    chain=(-1,) * len(text),
                    chains=(),
                    executed=tuple(counts.get(16 * k, 1) for k in range(len(text))),
                    thread_executed=tuple(32 * counts.get(16 * k, 1) for k in range(len(text))),
                ),
                samples=Samples(
                    instruction=tuple(offset // 16 for offset, _ in order),
                    reason=tuple(reasons.index(reason) for _, reason in order),
                    all_=tuple(stalls[key] for key in order),
                    not_issued=tuple(stalls[key] for key in order),
                ),
            ),
        ),
        launches=(),
        modules=tuple(Module(sha256=hashlib.sha256(elf).hexdigest(), elf=elf) for elf in elfs),
    )


@pytest.fixture(scope="session")
def cubin() -> Callable[[str], Cubin]:
    return read_cubin


@pytest.fixture(scope="session")
def instructions() -> Callable[[str, str], tuple[Instruction, ...]]:
    return read_instructions


@pytest.fixture(scope="session")
def profile() -> Callable[..., Profile]:
    return make_profile
