"""What a test on a GPU needs: the mark, its time limit, and a skip that says how to get what is missing."""

from __future__ import annotations

import shutil

import pytest

REMEDIES = {
    "nvidia-smi": "this machine has no NVIDIA GPU",
    "ncu": "install Nsight Compute",
    "nvcc": "install the CUDA toolkit",
    "compute-sanitizer": "it is in the CUDA toolkit",
}


def needs(*tools: str, seconds: int) -> list[pytest.MarkDecorator]:
    """The ``pytestmark`` of a module whose tests use these tools and take at most so many seconds each."""
    skips = [
        pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool}: {REMEDIES[tool]}")
        for tool in ("nvidia-smi", *tools)
    ]
    return [pytest.mark.gpu, pytest.mark.timeout(seconds), *skips]
