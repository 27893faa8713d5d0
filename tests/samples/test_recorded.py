"""Every committed report is small, is the one that was measured, and embeds only our sources."""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

ncu_report = pytest.importorskip("ncu_report")

SAMPLES = Path(__file__).parents[2] / "samples"
FOLDERS = sorted(p.parent for p in SAMPLES.rglob("optimas.toml"))
LIMIT_BYTES = 500_000
MACHINE = re.compile(rb"/(work|root|home)/[\w.-]+|\.pyenv|HOSTNAME=|PATH=/|firecracker", re.IGNORECASE)


@dataclass(frozen=True)
class Recorded:
    """A sample folder with its settings and its provenance."""

    folder: Path
    settings: dict[str, Any]
    provenance: dict[str, Any]

    @property
    def name(self) -> str:
        return self.folder.relative_to(SAMPLES).as_posix()

    def plain(self, report: dict[str, Any], room: Path) -> Path:
        """Return the report as ncu wrote it, unpacked into `room` where it is compressed."""
        path = self.folder / report["file"]
        if path.suffix == ".ncu-rep":
            return path
        target = room / report["unpacked"]["file"]
        target.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()))
        return target


@pytest.fixture(params=FOLDERS, ids=lambda p: p.relative_to(SAMPLES).as_posix())
def recorded(request: pytest.FixtureRequest) -> Recorded:
    folder: Path = request.param
    return Recorded(
        folder,
        tomllib.loads((folder / "optimas.toml").read_text(encoding="utf-8")),
        json.loads((folder / "provenance.json").read_text(encoding="utf-8")),
    )


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_samples_of_the_design_are_there() -> None:
    wanted = {"accuracy", "sobol", "stream", "shmem", "adjacent", "lookup", "stencil", "softmax_triton", "sweep"}
    assert wanted <= {f.name for f in FOLDERS}


def test_settings_name_three_inputs_and_existing_reports(recorded: Recorded) -> None:
    target = recorded.settings["target"]
    expected = {"default"} if recorded.name.startswith("blame/") else {"small", "default", "large"}
    assert set(target["inputs"]) == expected
    for report in recorded.settings["profile"]["reports"]:
        assert (recorded.folder / report).is_file()


def test_provenance_is_about_these_sources_and_this_build(recorded: Recorded) -> None:
    assert recorded.provenance["schema"] == "optimas.sample/1"
    assert recorded.provenance["build"] == recorded.settings["target"]["build"]
    for name, digest in recorded.provenance["sources"].items():
        assert sha256(recorded.folder / name) == digest, f"{name} was changed after it was profiled: measure it again"


def test_every_input_has_a_checksum(recorded: Recorded) -> None:
    inputs = recorded.provenance["runs"]["inputs"]
    assert {name: row["command"] for name, row in inputs.items()} == recorded.settings["target"]["inputs"]
    assert all(re.fullmatch(r"[0-9a-f]{16}", row["checksum"]) for row in inputs.values())


def test_reports_are_the_measured_ones_and_small(recorded: Recorded, tmp_path: Path) -> None:
    reports = recorded.provenance["reports"]
    assert sorted(r["file"] for r in reports) == sorted(p.name for p in recorded.folder.glob("*.ncu-rep*"))
    for report in reports:
        path = recorded.folder / report["file"]
        assert sha256(path) == report["sha256"]
        assert path.stat().st_size == report["bytes"]
        assert report["bytes"] <= LIMIT_BYTES
        if "unpacked" in report:
            assert sha256(recorded.plain(report, tmp_path)) == report["unpacked"]["sha256"]


def test_nothing_names_the_machine(recorded: Recorded, tmp_path: Path) -> None:
    files = [recorded.plain(report, tmp_path) for report in recorded.provenance["reports"]]
    for path in [*files, recorded.folder / "provenance.json"]:
        found = MACHINE.search(path.read_bytes())
        assert found is None, f"{path.name} holds {found and found[0]!r}"


def test_reports_embed_only_our_sources_byte_for_byte(recorded: Recorded) -> None:
    for report in recorded.provenance["reports"]:
        launches = ncu_report.load_report(str(recorded.folder / report["file"])).range_by_idx(0)
        embedded: dict[str, str] = dict(launches.action_by_idx(0).source_files().items())
        texts = {path: text for path, text in embedded.items() if text}
        if not report["imports_source"] or not report["lineinfo"]:
            assert texts == {}
            continue
        run_folder = f"/tmp/run/{recorded.name}/"
        names = {path.removeprefix(run_folder) for path in texts}
        assert names, f"{report['file']} embeds no source"
        for path, text in texts.items():
            assert path.startswith(run_folder), f"{report['file']} embeds {path}, which is not ours"
            ours = (recorded.folder / path.removeprefix(run_folder)).read_bytes()
            assert text.encode() == ours


@pytest.mark.parametrize("case", sorted(p.parent.name for p in SAMPLES.glob("blame/*/case.cu")))
def test_a_case_marks_its_cause_or_its_pattern(case: str) -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted((SAMPLES / "blame" / case).glob("*.cu*")))
    marks = set(re.findall(r"//@ (cause|waits|pattern \w+)", text))
    assert {"cause", "waits"} <= marks or any(m.startswith("pattern") for m in marks) or case == "tail_wave"


def test_measure_explains_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-B", str(SAMPLES / "measure.py"), "--help"], capture_output=True, text=True, check=True
    )
    assert "--pack" in done.stdout


def test_provenance_is_plain_json_without_the_machine_that_asked() -> None:
    for folder in FOLDERS:
        text = (folder / "provenance.json").read_text(encoding="utf-8")
        json.loads(text)
        assert "uuid" not in text.lower()


def samples_per_line(report: Path) -> Counter[tuple[str, int]]:
    """Return the PC samples of the report's first launch by base name and line."""
    launch = ncu_report.load_report(str(report)).range_by_idx(0).action_by_idx(0)
    total: Counter[tuple[str, int]] = Counter()
    for name in launch.metric_names():
        if not name.startswith("smsp__pcsamp_warps_issue_stalled_") or name.endswith("not_issued"):
            continue
        metric = launch[name]
        places = metric.correlation_ids()
        for k in range(metric.num_instances()):
            place = launch.source_info(places.as_uint64(k))
            if place is not None:
                total[Path(place.file_name()).name, place.line()] += metric.as_uint64(k)
    return total


@pytest.mark.parametrize("case", sorted(p.parent.name for p in SAMPLES.glob("blame/*/case.cu")))
def test_the_marked_line_is_the_one_the_profiler_charges(case: str) -> None:
    lines = (SAMPLES / "blame" / case / "case.cu").read_text(encoding="utf-8").splitlines()
    waiting = [number for number, line in enumerate(lines, 1) if "//@ waits" in line]
    if case == "slow_warp":  # the samples of a barrier fall on the instructions after it
        waiting = [number + 1 for number in waiting]
    if not waiting:
        pytest.skip("a pattern, not a cause")
    charged = samples_per_line(SAMPLES / "blame" / case / "profile.ncu-repz")
    assert sum(charged["case.cu", number] for number in waiting) >= 1000
