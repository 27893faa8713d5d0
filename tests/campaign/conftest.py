"""A small campaign on a copy of a real sample, in a folder of its own, with nothing of the user's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2] / "samples"

HEAD = """\
name = "small"
results = "results"

[design]
evidence = {evidence}
inputs = {inputs}
repetitions = {repetitions}
build = {build}

[[device]]
name = "h200"
executor = "recorded"
settings = {{ records = "{samples}" }}

[engine]
workers = 2
{engine}
"""

PROGRAM = """
[[program]]
name = "{name}"
folder = "{name}"
source = "{name}/{name}.cu"
profile = "{name}/{report}"
"""

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state, data and cache folders of this test."""
    own = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(own / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(own / "data"))
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
    monkeypatch.setenv("PYTHONPATH", str(SAMPLES.parent))


@pytest.fixture
def campaign(tmp_path: Path) -> Write:
    """Writes a campaign on copies of samples and gives its file."""

    def write(
        *names: str,
        evidence: tuple[str, ...] = ("pc", "rl", "pc+rl+ia"),
        inputs: tuple[str, ...] = ("default",),
        repetitions: int = 1,
        build: bool = False,
        engine: str = "",
        more: str = "",
    ) -> Path:
        chosen = names or ("accuracy",)
        text = HEAD.format(
            evidence=list(evidence),
            inputs=list(inputs),
            repetitions=repetitions,
            build=str(build).lower(),
            samples=SAMPLES,
            engine=engine,
        )
        for name in chosen:
            report = next(each for each in ("profile.ncu-rep", "profile.ncu-repz") if (SAMPLES / name / each).is_file())
            if not (tmp_path / name).exists():
                (tmp_path / name).mkdir()
                for file in (SAMPLES / name).iterdir():
                    if file.suffix in {".cu", ".cuh", ".toml"} or file.name == report:
                        shutil.copy(file, tmp_path / name)
            text += PROGRAM.format(name=name, report=report)
        place = tmp_path / "campaign.toml"
        place.write_text(text + more, "utf-8")
        return place

    return write
