"""``optimas corpus``: import, look, search, say no, prune, export, validate, through the real command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from entries import attempt
from typer.testing import CliRunner, Result

from optimas_lsp.cli.app import app
from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.store import cited

DATASET = Path(__file__).resolve().parents[2] / "samples" / "corpus"


def optimas(*words: str) -> Result:
    return CliRunner().invoke(app, ["corpus", *words])


@pytest.fixture
def filled() -> None:
    assert optimas("import", str(DATASET)).output == "20 new attempts, 0 known ones\n"


def test_an_empty_corpus_answers_every_question() -> None:
    assert optimas("stats").output.startswith("0 attempts on 0 kernels")
    assert optimas("search").output == "nothing was found\n"
    assert optimas("prune").output == "0 attempts were dropped\n"
    shown = optimas("show", "abcdef")
    assert shown.exit_code == 2
    assert "there is no attempt whose id starts with 'abcdef'" in shown.output


@pytest.mark.usefixtures("filled")
def test_importing_again_adds_nothing_and_stats_count_what_is_there() -> None:
    assert optimas("import", str(DATASET)).output == "0 new attempts, 20 known ones\n"
    found = json.loads(optimas("stats", "--format", "json").output)
    assert (found["attempts"], found["kernels"]) == (20, 10)
    assert {each["name"]: each["attempts"] for each in found["endings"]} == {"proven": 14, "refuted": 6}
    assert found["devices"] == [{"name": "NVIDIA H200", "attempts": 20, "proven": 14}]
    assert "restrict-pointers" in optimas("stats").output
    rows = [row.entry for row in Corpus.of_user().store.each_row()]
    for rule in found["rules"]:  # attempts, however many changes of one answer the rule
        of = [row for row in rows if any(rule["name"] == name for _, name in cited(row))]
        assert (rule["attempts"], rule["proven"]) == (len(of), sum(row.ending == "proven" for row in of))


@pytest.mark.usefixtures("filled")
def test_searching_by_rule_transformation_and_name() -> None:
    rows = json.loads(optimas("search", "adjacent", "--ending", "proven", "--format", "json").output)
    assert {row["base_name"] for row in rows} == {"adjacent_kernel"}
    rows = json.loads(
        optimas("search", "--transformation", "Pad shared", "--rule", "mio_throttle", "--format", "json").output
    )
    assert {row["base_name"] for row in rows} == {"mix_tiles"}
    text = optimas("search", "accuracy", "--limit", "1").output
    assert "proven" in text
    assert "accuracy_kernel" in text


@pytest.mark.usefixtures("filled")
def test_the_most_alike_attempts_are_those_on_the_same_kernel() -> None:
    (one, *_) = json.loads(optimas("search", "sobol", "--format", "json").output)
    found = json.loads(optimas("search", "--like", one["key"][:12], "--limit", "3", "--format", "json").output)
    assert [row["base_name"] for row in found[:2]] == ["sobol_kernel", "sobol_kernel"]
    assert found[0]["likeness"] == pytest.approx(1, abs=1e-3)
    assert found[2]["likeness"] < found[1]["likeness"]


@pytest.mark.usefixtures("filled")
def test_a_kernel_with_its_report_finds_what_was_tried_on_it() -> None:
    sample = DATASET.parent / "adjacent"
    words = ("--source", str(sample / "adjacent.cu"), "--profile", str(sample / "profile.ncu-repz"))
    found = json.loads(optimas("search", *words, "--limit", "2", "--format", "json").output)
    assert [row["base_name"] for row in found] == ["adjacent_kernel", "adjacent_kernel"]
    assert found[0]["likeness"] > 0.95


@pytest.mark.usefixtures("filled")
def test_an_attempt_is_shown_whole_and_a_no_is_recorded() -> None:
    (one, *_) = json.loads(optimas("search", "mix_tiles", "--format", "json").output)
    text = optimas("show", one["key"][:8]).output
    for part in (
        "proven",
        "NVIDIA H200",
        "Apache-2.0",
        "pad-shared",
        "pass    compare",
        "95 % interval",
        "+++ b/shmem.cu",
    ):
        assert part in text
    assert optimas("reject", one["key"][:8], "--reason", "hard to read", "--kind", "reverted").exit_code == 0
    assert "reverted" in optimas("show", one["key"]).output
    assert "(reverted)" in optimas("search", "mix_tiles").output


@pytest.mark.usefixtures("filled")
def test_an_exported_corpus_is_valid_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    done = optimas("export", str(folder), "--title", "Mine")
    assert "20 attempts of 9 families" in done.output
    assert optimas("validate", str(folder)).output.endswith("20 attempts of 9 families, 0 problems\n")
    file = sorted((folder / "data").glob("*.jsonl"))[0]
    file.write_text(file.read_text("utf-8").replace("proven", "disproven"), "utf-8")
    bad = optimas("validate", str(folder))
    assert bad.exit_code == 1
    assert f"data/{file.name}:1: 'ending'" in bad.output
    again = optimas("import", str(folder))
    assert again.exit_code == 2
    assert f"nothing was imported: {file.name}:1" in again.output


def test_code_of_unknown_licence_is_pointed_out_and_can_be_left_out(tmp_path: Path, corpus: Corpus) -> None:
    unknown = attempt(2).model_copy(update={"origin": attempt(2).origin.model_copy(update={"licence": None})})
    corpus.store.add([attempt(1), unknown])
    assert "the licence of 1 is not known" in optimas("export", str(tmp_path / "all")).output
    assert "the licence of 1 of 2 attempts is not known" in optimas("validate", str(tmp_path / "all")).output
    assert "1 attempts" in optimas("export", str(tmp_path / "some"), "--licence", "Apache-2.0").output


def test_what_others_wrote_cannot_drive_the_terminal_or_make_up_lines(corpus: Corpus) -> None:
    nasty = attempt(1, "proven", sentence="good\nlicence  MIT\x1b[2J", base_name="kernel\nabc", patch="+\x1b[31mred\n")
    corpus.store.add([nasty])
    shown = optimas("show", nasty.key[:12]).output
    assert "\x1b" not in shown
    assert "licence  MIT" not in shown.splitlines()
    assert len(optimas("search").output.splitlines()) == 1


def test_a_damaged_corpus_is_said_plainly(corpus: Corpus) -> None:
    corpus.store.add([attempt(1)])
    corpus.store.database.path.write_bytes(b"nonsense " * 900)
    done = optimas("stats")
    assert done.exit_code == 0
    assert "was damaged; it is kept as corpus.sqlite.corrupt-1" in done.output
