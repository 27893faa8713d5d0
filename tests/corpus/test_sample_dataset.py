"""The dataset in ``samples/corpus`` is valid and is what the recorded outcomes and reports give today."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.dataset import rows_of
from optimas_lsp.corpus.export import merge
from optimas_lsp.corpus.validate import validate

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
DATASET = SAMPLES / "corpus"


def test_it_is_valid_small_and_licensed() -> None:
    found = validate(DATASET)
    assert found.problems == ()
    assert found.notes == ()
    assert found.rows >= 16
    assert found.families >= 9
    assert sum(each.stat().st_size for each in DATASET.rglob("*") if each.is_file()) < 1_000_000


def test_it_is_what_the_samples_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    from publish import publish

    assert publish(tmp_path / "made") == validate(DATASET).rows
    ours = {each.name: each for each in DATASET.rglob("*") if each.suffix in {".jsonl", ".md"}}
    made = {each.name: each for each in (tmp_path / "made").rglob("*") if each.suffix in {".jsonl", ".md"}}
    assert ours.keys() == made.keys()
    for name, file in ours.items():
        assert made[name].read_bytes() == file.read_bytes(), f"{name} is out of date: run samples/publish.py"
    for file in (DATASET / "data").glob("*.parquet"):  # its bytes depend on the version of pyarrow
        other = tmp_path / "made" / "data" / file.name
        assert list(rows_of(file)) == list(rows_of(other))


def test_everything_in_it_was_measured_and_cites_evidence_that_is_there() -> None:
    for file in sorted((DATASET / "data").glob("*.jsonl")):
        for _, row in rows_of(file):
            assert not isinstance(row, str)
            assert row.effect is not None
            assert row.device.name == "NVIDIA H200"
            assert row.code
            assert row.patch
            ids = {finding.id for finding in row.findings}
            for step in row.steps:
                assert set(step.evidence) <= ids


def test_it_can_be_imported_again_and_again(corpus: Corpus) -> None:
    first, second = merge(corpus.store, DATASET), merge(corpus.store, DATASET)
    assert (first.new, first.known) == (validate(DATASET).rows, 0)
    assert (second.new, second.known) == (0, first.new)
    assert all(row.datasets[0].startswith("Optimas samples") for row in corpus.store.each_row())
