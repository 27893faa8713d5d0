"""What docs/study.md says is what its dataset says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from optimas_lsp.campaign.dataset import read
from optimas_lsp.campaign.design import read as read_campaign
from optimas_lsp.campaign.outcomes import improved
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.table import shown
from optimas_lsp.campaign.tables import tables
from optimas_lsp.report.campaign_tables import as_markdown

ROOT = Path(__file__).resolve().parents[2]
DATASET = ROOT / "samples" / "study.csv"


def test_every_table_of_the_study_comes_from_its_dataset() -> None:
    page = (ROOT / "docs" / "study.md").read_text("utf-8")
    assert page.endswith("## Tables\n\n" + as_markdown(tables(read(DATASET))))


def test_the_share_that_the_page_tells_beside_the_papers_is_that_of_its_table() -> None:
    page = (ROOT / "docs" / "study.md").read_text("utf-8").partition("## Tables")[0]
    overview = next(table for table in tables(read(DATASET)) if table.name == "overview")
    value, low, high = (shown(overview.column(name)[0], "percent") for name in ("improved of known", "low", "high"))
    assert f"({value}; {low} to {high})" in page


def test_the_study_is_of_the_campaign_that_ships_and_labels_what_was_recorded() -> None:
    rows = read(DATASET)
    axes = {each.axes.words() for each in Plan.of(read_campaign(ROOT / "samples" / "campaign.toml")).experiments}
    assert {
        " · ".join(x for x in (r.program, r.kernel, r.backend, r.evidence, r.input, r.device) if x) for r in rows
    } <= axes
    assert all(row.recorded.startswith("recorded on NVIDIA H200, 2026-12-01") for row in rows if improved(row))
    assert all(row.timed_input == row.input for row in rows if improved(row))
    text = DATASET.read_text("utf-8")
    assert len(text) < 1_000_000
    assert not any(place in text for place in ("/work/", "/tmp/", "/home/", "/root/"))


def test_what_the_study_waits_for_is_packed_once_for_a_machine_with_a_gpu(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tests" / "gpu" / "study" / "pack.py"), str(tmp_path), "shmem"]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    index = json.loads((tmp_path / "index.json").read_text("utf-8"))
    assert index
    assert sorted(index) == sorted(each.name for each in tmp_path.iterdir() if each.is_dir())
    for name, about in index.items():
        job = json.loads((tmp_path / name / "job.json").read_text("utf-8"))
        assert (about["sample"], about["file"]) == ("shmem", "shmem.cu")
        assert sorted(job["time_inputs"]) == sorted(job["target"]["inputs"])
        assert (tmp_path / name / "patch" / "shmem.cu").read_bytes() != (ROOT / "samples/shmem/shmem.cu").read_bytes()
