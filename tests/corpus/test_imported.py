"""A dataset goes again as a whole, with what it alone brought and nothing else; retrieval and experience follow."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from entries import attempt
from test_store import HERE, assert_whole
from typer.testing import CliRunner, Result

from optimas_lsp.cli.app import app
from optimas_lsp.corpus import Corpus, Query
from optimas_lsp.corpus.export import export, merge, rows_for
from optimas_lsp.corpus.failures import UnknownDatasetError
from optimas_lsp.corpus.imported import datasets_of, find, plan, remove
from optimas_lsp.corpus.model import Entry
from optimas_lsp.corpus.schema import VERSION
from optimas_lsp.corpus.store import No, Row

WORDS = "hard to read"


def optimas(*words: str) -> Result:
    return CliRunner().invoke(app, ["corpus", *words])


def dataset(folder: Path, title: str, *entries: Entry, noes: tuple[No, ...] = ()) -> Path:
    export(rows_for(Row(entry=each, noes=noes) for each in entries), folder, title=title, forms=("jsonl",))
    return folder


def numbers(corpus: Corpus) -> set[int]:
    return {row.entry.number for row in corpus.store.each_row()}


@pytest.fixture
def two(tmp_path: Path, corpus: Corpus) -> Corpus:
    """Own attempts 1 and 2, dataset A with 2 to 4 (a no to each), dataset B with 4 and 5 (another no to each)."""
    corpus.store.add([attempt(1), attempt(2, "proven")])
    theirs = No(kind="rejected", reason=WORDS, date="2026-12-01T11:00:00+00:00")
    other = theirs.model_copy(update={"reason": "too long"})
    for name, noes, entries in (
        ("A", (theirs,), [attempt(2, "proven"), attempt(3, "proven"), attempt(4)]),
        ("B", (other, theirs), [attempt(4), attempt(5, "proven")]),
    ):
        merge(corpus.store, dataset(tmp_path / name, name, *entries, noes=noes))
    return corpus


def test_a_dataset_goes_with_what_it_alone_brought(two: Corpus) -> None:
    found = plan(two.store, find(two.store, "A"))
    assert found.gone == (attempt(3, "proven").key,)
    assert (found.own, found.shared, found.noes) == (1, 1, 0)
    assert numbers(two) == {1, 2, 3, 4, 5}  # planning changes nothing
    assert remove(two.store, found.dataset) == found
    assert numbers(two) == {1, 2, 4, 5}
    assert [each.title for each in datasets_of(two.store)] == ["B"]
    assert remove(two.store, find(two.store, "B")).gone == tuple(sorted((attempt(4).key, attempt(5, "proven").key)))
    assert numbers(two) == {1, 2}
    assert datasets_of(two.store) == ()
    assert two.store.query(lambda base: base.execute("SELECT count(*) FROM members").fetchall()) == [(2,)]
    assert_whole(two.store)


def test_the_noes_of_a_dataset_go_with_it_and_those_of_others_stay(two: Corpus) -> None:
    two.store.say_no(attempt(2, "proven").key, WORDS, "rejected")
    two.store.say_no(attempt(3, "proven").key, "mine", "reverted")
    assert plan(two.store, find(two.store, "A")).noes == 1
    remove(two.store, find(two.store, "A"))
    noes = {row.entry.number: sorted(each.reason for each in row.noes) for row in two.store.each_row()}
    assert noes == {1: [], 2: [WORDS], 4: [WORDS, "too long"], 5: [WORDS, "too long"]}


def test_a_no_that_two_sources_say_counts_once(two: Corpus) -> None:
    row = two.store.find(attempt(4).key)
    assert [each.reason for each in row.noes] == [WORDS, "too long"]
    assert json.loads(optimas("stats", "--format", "json").output)["noes"] == 1 + 1 + 2 + 2


def test_an_attempt_made_here_after_its_dataset_was_imported_is_ones_own(tmp_path: Path, corpus: Corpus) -> None:
    merge(corpus.store, dataset(tmp_path / "A", "A", attempt(1), attempt(2)))
    assert [row.own for row in corpus.store.each_row()] == [False, False]
    corpus.store.add([attempt(1)])
    assert corpus.store.find(attempt(1).key).own
    remove(corpus.store, find(corpus.store, "A"))
    assert numbers(corpus) == {1}


def test_a_dataset_that_grew_is_another_one(tmp_path: Path, corpus: Corpus) -> None:
    merge(corpus.store, dataset(tmp_path / "old", "Theirs", attempt(1), attempt(2)))
    merge(corpus.store, dataset(tmp_path / "new", "Theirs", attempt(2), attempt(3)))
    with pytest.raises(UnknownDatasetError, match="several datasets are called 'Theirs'"):
        find(corpus.store, "Theirs")
    first, second = datasets_of(corpus.store)
    old = first if first.attempts == 2 and attempt(1).key in plan(corpus.store, first).gone else second
    remove(corpus.store, find(corpus.store, old.id[:8]))
    assert numbers(corpus) == {2, 3}


def test_a_dataset_is_known_by_its_attempts_in_whatever_form(tmp_path: Path, corpus: Corpus) -> None:
    folder = dataset(tmp_path / "A", "A", attempt(1))
    (file,) = (folder / "data").iterdir()
    merge(corpus.store, folder)
    merge(corpus.store, file)
    (found,) = datasets_of(corpus.store)
    assert (found.title, found.attempts, found.alone, found.date[:2]) == ("A", 1, 1, "20")


@pytest.mark.parametrize("chosen", ["C", "", "abcdef", "%", "A' OR 1"])
def test_an_unknown_dataset_is_an_error_that_names_where_to_look(two: Corpus, chosen: str) -> None:
    with pytest.raises(UnknownDatasetError, match="there is no dataset"):
        find(two.store, chosen)
    done = optimas("remove", "--accept", "--", chosen)
    assert done.exit_code == 2
    assert "optimas corpus stats lists the datasets" in done.output
    assert numbers(two) == {1, 2, 3, 4, 5}


def test_retrieval_and_experience_know_nothing_of_it_any_more(tmp_path: Path, corpus: Corpus) -> None:
    corpus.store.add([attempt(1, "proven")])
    others = [attempt(number, transformation="pad-shared") for number in range(2, 50)]
    merge(corpus.store, dataset(tmp_path / "A", "A", *others))
    query = Query.of_entry(attempt(3))
    assert any("pad-shared" in case.transformation for case in corpus.past_cases(query, most=2))
    assert corpus.experience().of("pad-shared") is not None
    remove(corpus.store, find(corpus.store, "A"))
    assert [case.transformation for case in corpus.past_cases(query, most=2)] == ["unroll-loop"]
    assert corpus.experience().of("pad-shared") is None
    assert corpus.experience().of("unroll-loop") is not None


def test_what_it_held_is_gone_from_the_disk(tmp_path: Path, corpus: Corpus) -> None:
    secret = attempt(7, code="__global__ void unmistakable_name(int* a) { a[0] = 1; }", patch="+unmistakable_name\n")
    corpus.store.add([attempt(1)])
    merge(corpus.store, dataset(tmp_path / "A", "A", secret))
    remove(corpus.store, find(corpus.store, "A"))
    for file in corpus.store.folder.iterdir():
        assert b"unmistakable_name" not in file.read_bytes()


def test_importing_it_again_brings_it_back(two: Corpus, tmp_path: Path) -> None:
    before = {row.entry.key: row for row in two.store.each_row()}
    remove(two.store, find(two.store, "A"))
    assert merge(two.store, tmp_path / "A").new == 1
    after = {row.entry.key: row.model_copy(update={"datasets": tuple(sorted(row.datasets))})
             for row in two.store.each_row()}  # fmt: skip
    assert after == before


def test_a_version_3_file_keeps_what_its_attempts_came_with(corpus: Corpus) -> None:
    corpus.store.folder.mkdir()
    with closing(sqlite3.connect(corpus.store.database.path, isolation_level=None)) as base:
        base.executescript((HERE / "data" / "version-3.sql").read_text("utf-8"))
        assert base.execute("PRAGMA user_version").fetchone() == (3,)
    before = {row.entry.number: row for row in corpus.store.each_row()}  # reading migrates a copy only
    assert {number: (row.own, row.datasets) for number, row in before.items()} == {
        1: (True, ()),  # of its dataset that version kept only that it was made here
        2: (False, ("Attempts of a colleague",)),
        3: (False, ("Attempts of a colleague",)),
        4: (False, ("train.jsonl",)),
    }
    assert [each.reason for each in before[2].noes] == [WORDS]
    corpus.store.add([attempt(9)])
    with closing(sqlite3.connect(corpus.store.database.path)) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert base.execute("SELECT count(*) FROM attempts WHERE source <> ''").fetchone() == (0,)
    assert {row.entry.number: row for row in corpus.store.each_row() if row.entry.number != 9} == before
    assert_whole(corpus.store)
    assert len(remove(corpus.store, find(corpus.store, "Attempts of a colleague")).gone) == 2
    assert numbers(corpus) == {1, 4, 9}


def test_the_command_lists_first_asks_and_removes_only_what_was_accepted(two: Corpus) -> None:
    listed = optimas("remove", "A", "--dry-run").output
    assert "1 attempts would go" in listed
    assert attempt(3, "proven").key[:12] in listed
    assert "1 stay, because they were made here, too" in listed
    assert "1 stay, because another dataset holds them, too" in listed
    asked = optimas("remove", "A")
    assert asked.exit_code == 2
    assert "nobody can be asked here" in asked.output
    assert numbers(two) == {1, 2, 3, 4, 5}
    done = optimas("remove", "A", "--accept")
    assert done.exit_code == 0
    assert "1 attempts were removed" in done.output
    assert numbers(two) == {1, 2, 4, 5}
    assert optimas("remove", "A", "--accept").exit_code == 2


def test_stats_and_show_name_the_datasets(two: Corpus) -> None:
    text = optimas("stats").output
    lines = {line.split()[0]: line.split()[1:4] for line in text.partition("came from")[2].splitlines()[1:]}
    assert lines["A"] == ["3", "2", find(two.store, "A").id[:12]]
    assert lines["B"] == ["2", "1", find(two.store, "B").id[:12]]
    assert lines["this"] == ["machine", "2", "1"]
    shown = optimas("show", attempt(2, "proven").key).output
    assert "from     this machine, A" in shown
    assert "from     A, B" in optimas("show", attempt(4).key).output
    data = json.loads(optimas("show", attempt(4).key, "--format", "json").output)
    assert (data["own"], data["datasets"]) == (False, ["A", "B"])


@pytest.mark.skipif(sys.platform != "linux", reason="what is left in a terminal that was closed differs")
@pytest.mark.parametrize(("answer", "status", "left"), [("n", 2, {1, 2, 3, 4, 5}), ("y", 0, {1, 2, 4, 5})])
def test_a_person_at_a_terminal_is_asked(two: Corpus, answer: str, status: int, left: set[int]) -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        words = [sys.executable, "-c", "from optimas_lsp.cli import main; main()", "corpus", "remove", "A"]
        environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
        process = subprocess.Popen(words, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment)
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())  # the terminal keeps it until it is asked for
        said, _ = process.communicate(timeout=120)
        asked = ""
        with contextlib.suppress(OSError):  # how a terminal ends that nobody has open any more
            while part := os.read(ours, 4096):
                asked += part.decode()
    finally:
        os.close(ours)
    assert attempt(3, "proven").key[:12] in asked
    assert "Remove them?" in asked
    assert process.returncode == status
    assert (b"1 attempts were removed" in said) == (status == 0)
    assert numbers(two) == left
