"""Which kernels are hot: the smallest set that covers most of the GPU time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from optimas_lsp.profile.model import Note, Profile

Basis = Literal["gpu-time", "samples", "launches"]

_WORDS: dict[Basis, str] = {"gpu-time": "GPU time", "samples": "PC samples", "launches": "launches"}


@dataclass(frozen=True, slots=True)
class Selection:
    """The hot kernels and what they were ranked by.

    ``hot`` holds indices into ``Profile.kernels``, costliest first. ``weights`` and ``shares`` are aligned with
    ``Profile.kernels``: nanoseconds, samples or launches as ``basis`` says, and each kernel's part of their sum
    (0 to 1). ``note`` is set when the basis is not GPU time and says why.
    """

    hot: tuple[int, ...]
    basis: Basis
    weights: tuple[float, ...]
    shares: tuple[float, ...]
    note: Note | None = None


def gpu_times_ns(profile: Profile) -> tuple[float | None, ...]:
    """Summed duration of each kernel's launches in nanoseconds; None where a launch has no duration."""
    sums: list[float | None] = [0.0] * len(profile.kernels)
    for launch in profile.launches:
        known = sums[launch.kernel]
        sums[launch.kernel] = None if known is None or launch.duration_ns is None else known + launch.duration_ns
    return tuple(sums)


def select(profile: Profile, coverage: float = 0.80, maximum: int = 3) -> Selection:
    """The fewest kernels that together reach ``coverage`` (0 to 1) of the GPU time, ``maximum`` at most.

    Kernels of equal weight are ordered by mangled name, then by the digest of their code, so that the same report
    always gives the same answer. Where a launch has no duration, PC samples rank instead, or launch counts where
    there are no samples either.
    """
    basis, weights = _weigh(profile)
    total = sum(weights)
    order = sorted(range(len(weights)), key=lambda at: (-weights[at], *_identity(profile, at)))
    hot: list[int] = []
    reached = 0.0
    for index in order:
        if len(hot) >= maximum or reached >= coverage * total * (1 - 1e-12) or weights[index] <= 0:
            break
        hot.append(index)
        reached += weights[index]
    shares = tuple(weight / total if total > 0 else 0.0 for weight in weights)
    return Selection(tuple(hot), basis, weights, shares, _explain(basis))


def hot_kernels(profile: Profile, coverage: float = 0.80, maximum: int = 3) -> tuple[int, ...]:
    """Indices of the hot kernels, costliest first; see :func:`select`."""
    return select(profile, coverage, maximum).hot


def _identity(profile: Profile, index: int) -> tuple[str, str]:
    kernel = profile.kernels[index]
    return kernel.mangled, kernel.code.sha256


def _weigh(profile: Profile) -> tuple[Basis, tuple[float, ...]]:
    times = [time for time in gpu_times_ns(profile) if time is not None]
    if len(times) == len(profile.kernels) and sum(times) > 0:
        return "gpu-time", tuple(times)
    samples = tuple(float(sum(kernel.samples.all_)) for kernel in profile.kernels)
    if sum(samples) > 0:
        return "samples", samples
    counts = [0.0] * len(profile.kernels)
    for launch in profile.launches:
        counts[launch.kernel] += 1.0
    return "launches", tuple(counts)


def _explain(basis: Basis) -> Note | None:
    if basis == "gpu-time":
        return None
    return Note(
        code="no-durations",
        text=f"at least one launch has no duration, so kernels are ranked by their {_WORDS[basis]}, not by GPU time; "
        "profile with --section SpeedOfLight to record durations",
    )
