"""Profiling a real program with the real ncu (needs a GPU, nvcc and ncu: make gpu-test)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from optimas_lsp.profile.collect import Step, collect, find_ncu
from optimas_lsp.profile.ncu import CollectError, Filter
from optimas_lsp.profile.provenance import Request

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).parents[2] / "samples" / "adjacent" / "adjacent.cu"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not on PATH: install the CUDA toolkit")
    built = tmp_path_factory.mktemp("adjacent") / "adjacent"
    subprocess.run(["nvcc", "-O3", "-arch=native", "-lineinfo", "-o", built, SOURCE], check=True, timeout=300)
    return str(built)


def request(program: str, folder: Path, **filters: object) -> Request:
    chosen = Filter(clocks="none", count=1, **filters)  # type: ignore[arg-type]
    return Request(program=(program, "small"), folder=folder, stem="real", chosen=chosen, ncu=find_ncu())


def test_a_real_report_is_written_and_progress_counts_passes(program: str, tmp_path: Path) -> None:
    steps: list[Step] = []
    (measured,) = collect(request(program, tmp_path, kernels="adjacent_kernel"), steps.append)
    assert measured.report.stat().st_size > 50_000
    assert steps[0].passes is not None
    assert steps[0].passes > 10


def test_a_filter_that_matches_nothing_says_so(program: str, tmp_path: Path) -> None:
    with pytest.raises(CollectError) as caught:
        collect(request(program, tmp_path, kernels="no_such_kernel", sections=("SpeedOfLight",)))
    assert caught.value.code == "nothing"
