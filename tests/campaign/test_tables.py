"""Tables say what the rows say: nothing unknown is counted as a success or a failure, and nothing wrong is offered."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.campaign.dataset import DatasetError, read, write
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.table import Table
from optimas_lsp.campaign.tables import tables
from optimas_lsp.report.campaign_tables import as_csv, as_latex, as_markdown, as_text
from optimas_lsp.report.html.campaign_page import render_campaign

SUBSETS = ("pc", "rl", "pc+rl+ia")


def row(number: int, evidence: str = "pc", **more: Any) -> Row:
    """A row of a kernel of its own; ``more`` says what came of it."""
    plain = {"program": f"p{number}", "kernel": "", "backend": "catalogue", "model": "", "input": "default"}
    rest = {"repetition": 1, "device": "h200", "ending": "nothing"}
    return Row.model_validate({"key": f"{number}-{evidence}", **plain, **rest, "evidence": evidence, **more})


def proven(number: int, speedup: float | None, evidence: str = "pc", **more: Any) -> Row:
    gates = {"compare": "pass", "time": "pass"}
    return row(number, evidence, ending="proven", speedup=speedup, tries="proven", gates=gates, **more)


def refuted(number: int, gate: str, evidence: str = "pc", tries: str = "") -> Row:
    return row(number, evidence, ending="refuted", gate=gate, tries=tries or f"prove:{gate}")


ROWS = (
    proven(1, 2.0),
    proven(2, 1.5),
    proven(3, None, timed_input="small"),
    refuted(4, "time", tries="guard:scope compile:failed prove:time"),
    refuted(5, "compare"),
    row(6, tries="propose:empty"),
    row(7, ending="not-proven", tries="not-proven"),
    row(8, ending="failed"),
    row(9, ending="no-evidence"),
)


def one(name: str, rows: tuple[Row, ...] = ROWS) -> Table:
    return next(table for table in tables(rows) if table.name == name)


def cell(table: Table, column: str, at: int = 0) -> Any:
    return table.column(column)[at]


def test_only_known_outcomes_are_in_the_denominator() -> None:
    overview = one("overview")
    assert [cell(overview, name) for name in ("experiments", "known", "improved")] == [9, 5, 2]
    assert [cell(overview, name) for name in ("no evidence", "failed", "not proven", "timed elsewhere")] == [1, 1, 1, 1]
    assert cell(overview, "improved of known") == pytest.approx(0.4)
    assert cell(overview, "improved of all") == pytest.approx(2 / 9)
    gains = one("gains")
    assert gains.column("of") == ("improved", "known")
    assert gains.column("mean gain") == pytest.approx((0.75, 0.3))
    assert gains.column("mean time saved") == pytest.approx(((1 / 2 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 5))
    assert gains.column("kernels") == (2, 5)
    assert gains.column("geometric speed-up") == pytest.approx((3**0.5, 3**0.2))
    assert cell(gains, "mean low") is None  # two kernels say too little
    assert cell(gains, "mean low", 1) <= 0.3 <= cell(gains, "mean high", 1)


def test_a_hostile_dataset_neither_drives_the_terminal_nor_makes_up_rows_or_markup() -> None:
    name = "[9pt]\x1b[2Jx\n| y \\| z\r& 100% <script>alert(1)</script> $\\input{a}$ a_b"
    found = tables([proven(1, 2.0).model_copy(update={"program": name, "backend": name, "gpu": name, "device": name})])
    plain = tables([proven(1, 2.0).model_copy(update={"gpu": "H200"})])
    for say in (as_text, as_markdown, as_latex):
        text = say(found)
        assert "\x1b" not in text
        assert "\r" not in text
        assert len(text.splitlines()) == len(say(plain).splitlines())
    assert "<script" not in as_markdown(found)
    assert "\\input" not in as_latex(found)
    assert "\n    [" not in as_latex(found)
    assert r"\& 100\% \textless{}script" in as_latex(found)
    assert r"y \\\| z" in as_markdown(found)
    assert "<script>alert" not in render_campaign(found, name)


def test_every_table_of_proofs_says_what_was_recorded() -> None:
    label = "recorded on NVIDIA H200, 2026-12-01"
    here = proven(10, 2.0, recorded=label, gpu="NVIDIA H200")
    rows = (*ROWS, here, proven(11, None, timed_input="s", recorded=label))
    words = "recorded: 1 of the 6 known outcomes rest on a proof that was made before"
    for table in tables(rows):
        told = any(words in note for note in table.notes)
        assert told == (table.name not in {"failures", "ear", "alignment", "overhead", "provenance"}), table.name
    assert cell(one("overview", rows), "by a record") == 1
    assert "1 of the known outcomes are from recorded proofs" in render_campaign(tables(rows), "x")
    assert not any("recorded:" in note for table in tables(ROWS) for note in table.notes)


def test_what_a_service_did_not_answer_is_no_answer_of_its_model() -> None:
    rows = (*ROWS, row(10, ending="failed", gate="rate-limit", tries="guard:scope propose:rate-limit"))
    found = one("correctness", rows)
    assert [cell(found, name) for name in ("not answered", "answers", "no proposal", "refused")] == [1, 10, 1, 2]
    assert [cell(one("overview", rows), name) for name in ("failed", "known", "improved")] == [2, 5, 2]


def test_every_answer_is_counted_where_it_stopped_and_a_wrong_one_is_never_offered() -> None:
    found = one("correctness")
    counts = {name: cell(found, name) for name in ("answers", "refused", "not built", "run", "wrong", "not faster")}
    assert counts == {"answers": 9, "refused": 1, "not built": 1, "run": 5, "wrong": 1, "not faster": 1}
    assert (cell(found, "offered"), cell(found, "wrong offered")) == (3, 0)
    stops = dict(zip(one("failures").column("gate"), one("failures").column("ended with it"), strict=True))
    assert stops == {"scope": 0, "failed": 0, "time": 1, "compare": 1, "empty": 1}


def test_subsets_are_compared_in_pairs_that_differ_in_nothing_else() -> None:
    rows = [proven(number, 1.1 + number / 10, "pc+rl+ia") for number in range(8)]
    rows += [proven(number, 1.05 + number / 10, "pc") for number in range(7)]  # worse by 0.05 in each pair
    rows += [row(7, "pc", ending="not-proven"), *(proven(number, 1.1 + number / 10, "rl") for number in range(8))]
    tests = one("evidence-tests", tuple(rows))
    by_name = {str(name): at for at, name in enumerate(tests.column("evidence"))}
    pc, rl = by_name["pc"], by_name["rl"]
    assert [cell(tests, name, pc) for name in ("pairs", "kernels", "better", "equal", "worse")] == [7, 7, 0, 0, 7]
    assert cell(tests, "mean difference", pc) == pytest.approx(-0.05)
    assert cell(tests, "p", pc) == pytest.approx(0.015625)
    assert [cell(tests, name, rl) for name in ("pairs", "better", "equal", "worse", "p")] == [8, 0, 8, 0, None]


def test_a_table_says_what_it_counts_together() -> None:
    other = proven(20, 1.2, "rl", backend="gpt", device="a100")
    words = "Counted together: 2 backends, 2 devices"
    told = {table.name for table in tables((*ROWS, other)) if any(words in note for note in table.notes)}
    assert told == {"kernels", "evidence", "inputs"}
    assert not any("Counted together" in note for table in tables(ROWS) for note in table.notes)


def test_a_program_that_failed_unchanged_is_counted_in_no_table_of_candidates() -> None:
    broken = {"ending": "program-failed", "gate": "compare", "sentence": "it gives nothing", "device": "h200"}
    rows = (*ROWS, row(10, tries="guard:scope program:compare", total_s=9.0, **broken), row(10, "rl", **broken))
    for name in ("correctness", "failures", "gains", "alignment", "overhead", "provenance"):
        assert one(name, rows).rows == one(name).rows, name
    overview = one("overview", rows)
    assert [cell(overview, name) for name in ("experiments", "program failed", "failed", "known")] == [11, 2, 1, 5]
    assert one("programs", rows).rows == (("p10", "h200", "compare", 2, 1, "it gives nothing"),)
    assert "programs" not in {table.name for table in tables(ROWS)}
    flaky = proven(11, 1.5).model_copy(update={"tries": "program:time proven"})
    found = one("correctness", (*ROWS, flaky))
    assert [cell(found, name) for name in ("answers", "not run", "run", "wrong")] == [11, 2, 6, 1]


def test_scores_that_could_not_be_measured_are_not_zero() -> None:
    scored = one("alignment", (row(1, ear_coverage=0.5), row(2, ear_coverage=1.0), row(3)))
    assert cell(scored, "measured") == 2
    assert cell(scored, "mean") == pytest.approx(0.75)
    assert [cell(scored, name, 1) for name in ("measured", "mean")] == [0, None]


def test_wins_and_losses_are_told_by_input() -> None:
    other = {"input": "large", "timed_input": "default"}
    slower = refuted(1, "time", "pc+rl").model_copy(update=other)
    rows = (proven(1, 1.5, input="small"), refuted(1, "time"), proven(1, None, "rl", **other), slower)
    found = one("inputs", rows)
    told = {str(name): at for at, name in enumerate(found.column("input"))}
    assert [cell(found, "improved", told["small"]), cell(found, "not faster", told["default"])] == [1, 1]
    assert [cell(found, "known", told["large"]), cell(found, "not known", told["large"])] == [0, 2]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_every_figure_comes_again_from_the_exported_dataset_alone(tmp_path: Path, suffix: str) -> None:
    place = tmp_path / f"dataset{suffix}"
    write(ROWS, place)
    again = read(place)
    assert sorted(again, key=lambda each: each.key) == sorted(ROWS, key=lambda each: each.key)
    assert as_csv(tables(again)) == as_csv(tables(ROWS))


def test_a_dataset_that_is_none_is_told_by_file_and_line(tmp_path: Path) -> None:
    place = tmp_path / "d.jsonl"
    place.write_text('{"schema":"optimas.experiment/1"}\n{', "utf-8")
    with pytest.raises(DatasetError, match=r"d\.jsonl:2: this is no JSON object"):
        read(place)
    place.write_text('{"schema":"optimas.experiment/1"}\n', "utf-8")
    with pytest.raises(DatasetError, match=r"no row of optimas\.experiment/1: 'key'"):
        read(place)
    with pytest.raises(DatasetError, match="JSON lines, CSV or Parquet"):
        read(tmp_path / "d.xlsx")


def test_the_tables_are_the_same_as_text_csv_latex_and_html() -> None:
    found = tables(ROWS)
    text, plain, latex = as_text(found), as_csv(found), as_latex(found)
    page = render_campaign(found, "test")
    for table in found:
        assert table.title in text
        assert f"\\label{{tab:{table.name}}}" in latex
        assert f'id="{table.name}"' in page
        assert f"### {table.title}\n" in as_markdown(found)
    read_back = list(csv.reader(io.StringIO(plain)))
    heads = next(row for row in read_back if row[:2] == ["table", "backend"])
    values = next(row for row in read_back if row[:1] == ["overview"])
    assert float(dict(zip(heads, values, strict=True))["improved of known"]) == pytest.approx(0.4)
    assert latex.count(r"\begin{tabular}") == len(found)
    assert "40.0 \\%" in latex
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_report_of_nothing_and_of_every_crossing_holds() -> None:
    assert as_text(tables(())).count("(nothing)") >= 6
    endings = ("proven", "refuted", "not-built", "refused", "unusable", "nothing", "no-evidence", "failed")
    rows = tuple(row(at, evidence, ending=end) for at, (end, evidence) in enumerate(product(endings, SUBSETS)))
    assert render_campaign(tables(rows), "x").startswith("<!DOCTYPE html>")
