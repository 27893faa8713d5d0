"""Real analyses for what people look at, and analyses made by hand with hostile names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis, Location
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Note, Profile

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="session")
def analysed(profile_cache: Path) -> Callable[[str], tuple[Profile, Analysis]]:
    """Profile and analysis of a report under ``samples/``."""

    @functools.cache
    def read(name: str) -> tuple[Profile, Analysis]:
        pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
        folder = (SAMPLES / name).parent
        return load_analysis(
            SAMPLES / name,
            Settings(),
            resolve=lambda source: next(iter(folder.glob(Path(source.path).name)), None),
            cache_dir=profile_cache,
        )

    return read


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>[link](http://x)\x1b[31m\u202e</style>&'
"""A name that tries markup, a terminal escape, a link and a change of writing direction."""


@pytest.fixture
def hostile_words() -> str:
    """The name itself."""
    return HOSTILE


@pytest.fixture
def hostile(analysed: Callable[[str], tuple[Profile, Analysis]]) -> tuple[Profile, Analysis]:
    """The accuracy sample with hostile names, texts and sources in place of its own."""
    profile, analysis = analysed("accuracy/profile.ncu-rep")
    evil = f"/src/{HOSTILE}/k.cu"
    files = tuple(file.model_copy(update={"path": evil, "text": f"{HOSTILE}\n" * 80}) for file in profile.files[:1])
    place = Location(file=evil, line=7)
    kernel = analysis.kernels[0]
    spoilt = kernel.model_copy(
        update={
            "name": HOSTILE,
            "base_name": HOSTILE,
            "facts": {HOSTILE: HOSTILE},
            "evidence": tuple(
                evidence.model_copy(
                    update={"rule": HOSTILE if at else evidence.rule, "text": HOSTILE, "location": place, "shown": None}
                )
                for at, evidence in enumerate(kernel.evidence)
            ),
            "lines": tuple(line.model_copy(update={"location": place, "shown": None}) for line in kernel.lines),
        }
    )
    report = analysis.report.model_copy(update={"path": f"/r/{HOSTILE}", "device": HOSTILE, "tool": HOSTILE})
    notes = (Note(code="no-samples", text=HOSTILE),)
    return (
        profile.model_copy(update={"files": files}),
        analysis.model_copy(update={"report": report, "kernels": (spoilt,), "notes": notes}),
    )
