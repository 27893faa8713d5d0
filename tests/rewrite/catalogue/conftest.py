"""Real analyses of the samples, read once a session, and sites made of small kernels."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis, SampleTotals
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.rewrite.catalogue.looking import looked
from optimas_lsp.rewrite.catalogue.patch import applied
from optimas_lsp.rewrite.catalogue.registry import entry
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Refusal, Variant
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText

sys.path.insert(0, str(Path(__file__).parent))

SAMPLES = Path(__file__).parents[3] / "samples"


@pytest.fixture(scope="session")
def analysis(profile_cache: Path) -> Callable[[str], Analysis]:
    """The analysis of a sample's main report."""

    @functools.cache
    def read(sample: str) -> Analysis:
        pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
        report = sorted((SAMPLES / sample).glob("profile.ncu-rep*"))[0]
        return load_analysis(report, Settings(), cache_dir=profile_cache)[1]

    return read


class Looker:
    """What one transformation says of one function of a text."""

    def __init__(self, text: str, function: str, outcomes: list[Variant | Refusal]) -> None:
        self.text = text
        self.function = function
        self.variants = [each for each in outcomes if isinstance(each, Variant)]
        self.refusals = [each.reason for each in outcomes if isinstance(each, Refusal)]

    def after(self, number: int = 0) -> str:
        """The whole text after a variant."""
        return applied(self.text.encode(), self.variants[number].edits).decode()


@pytest.fixture(scope="session")
def look() -> Callable[..., Looker]:
    """``look(text, transformation, function, block=…, registers=…, allow=…, headers=…, capability=…)``."""

    def looking(
        text: str,
        transformation: str,
        function: str = "kernel",
        *,
        block: tuple[int, int, int] = (256, 1, 1),
        registers: float | None = 32.0,
        allow: frozenset[str] = frozenset(),
        headers: tuple[str, ...] = (),
        capability: int | None = 90,
    ) -> Looker:
        syntax = parse(SourceText.of(text), "cuda")
        kernel = KernelAnalysis(
            name=function,
            mangled=function,
            base_name=function,
            launches=1,
            gpu_time_ns=None,
            share=1.0,
            hot=True,
            grid=(64, 1, 1),
            block=block,
            facts={"registers_per_thread": registers},
            samples=SampleTotals(total=0, stalled=0, not_issued=0, unattributed=0),
            evidence=(),
        )
        place = next(each for each in syntax.functions if each.shown_name == function)
        site = Site(syntax, place, kernel, (), headers, capability, allow)
        return Looker(text, function, list(looked(site, entry(transformation))))

    return looking


@dataclass(frozen=True)
class Ended:
    """How a command of a test ended."""

    status: int
    seconds: float
    stopped: str
    stdout: Path
    stderr: Path


@pytest.fixture(scope="session")
def compiling() -> dict[str, object]:
    """A plain way to run commands and to copy sources, for ``compile_candidate``."""

    def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, name: str) -> Ended:
        out, err = log / f"{name}.out", log / f"{name}.err"
        began = time.monotonic()
        with out.open("wb") as stdout, err.open("wb") as stderr:
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env={**os.environ, **environment},
                    stdout=stdout,
                    stderr=stderr,
                    check=False,
                    timeout=110,
                )
            except subprocess.TimeoutExpired:
                return Ended(-9, time.monotonic() - began, "it ran longer than 110 s", out, err)
        return Ended(done.returncode, time.monotonic() - began, "", out, err)

    def copy(source: Path, destination: Path) -> None:
        destination.mkdir()
        for file in source.glob("*"):
            if file.suffix in {".cu", ".cuh", ".cpp", ".h", ".json"} and file.stat().st_size < 1_000_000:
                shutil.copy(file, destination)

    return {"run": run, "copy": copy}
