"""Damaged, read-only, full: everything goes on, and a note tells what a person should know."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from entries import attempt

from optimas_lsp.corpus import Corpus, Query
from optimas_lsp.corpus.failures import UnknownAttemptError
from optimas_lsp.corpus.schema import APPLICATION
from optimas_lsp.rewrite.outcome import Proof, Rewriting

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
QUERY = Query(rules={"long_scoreboard": 0.8}, code="__global__ void kernel(float* a) { a[0] = 1; }")

USER = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from entries import attempt
from optimas_lsp.corpus import Corpus, Query, retrieve, vectors
vectors.vectors_of(["a"], [{"b": 1.0}], ["c"])  # imports what it needs while it still may
if os.geteuid() == 0:
    os.setuid(65534)
corpus = Corpus.of_user(folder=Path(sys.argv[1]))
note = corpus.keep_entries(lambda: [attempt(9)])
cases = corpus.past_cases(Query(rules={"long_scoreboard": 0.8}, code=attempt(1).code))
records = len(corpus.experience().records)
no = corpus.reject(attempt(1).key[:12], "no")
print(json.dumps({"kept": note and note.code, "text": note and note.text, "cases": len(cases), "records": records,
                  "no": no and no.code, "notes": [each.code for each in corpus.notes]}))
"""


def as_another(folder: Path, home: Path) -> dict[str, object]:
    """What a user who may not write ``folder`` sees: this one or, where the tests run as root, nobody."""
    done = subprocess.run(
        [sys.executable, "-c", USER, str(folder), str(HERE)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home), "OPTIMAS_CACHE_DIR": str(home / "no" / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("damage", ["text", "empty page", "cut", "middle"])
def test_a_damaged_file_is_kept_aside_and_a_fresh_one_started(corpus: Corpus, damage: str) -> None:
    corpus.keep_entries(lambda: [attempt(number) for number in range(60)])
    path = corpus.store.database.path
    data = bytearray(path.read_bytes())
    if damage == "text":
        data = bytearray(b"this is no database\n" * 200)
    elif damage == "empty page":
        data[:4096] = bytes(4096)
    elif damage == "cut":
        data = data[: len(data) // 2 + 100]
    else:
        data[4096 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4096)
    path.write_bytes(data)
    fresh = Corpus.of_user()
    assert fresh.past_cases(QUERY) == ()
    assert fresh.keep_entries(lambda: [attempt(99)]) is None
    assert [note.code for note in fresh.notes] == ["corpus-corrupt"]
    assert "corpus.sqlite.corrupt-1" in fresh.notes[0].text
    assert path.with_name("corpus.sqlite.corrupt-1").read_bytes() == data
    assert [row.entry.number for row in fresh.store.rows()] == [99]


def test_each_damaged_file_is_kept_under_its_own_name(corpus: Corpus) -> None:
    for _ in range(3):
        corpus.keep_entries(lambda: [attempt(1)])
        corpus.store.database.path.write_bytes(b"broken " * 1000)
    assert corpus.store.rows() == []
    names = {each.name for each in corpus.store.folder.iterdir()}
    assert {f"corpus.sqlite.corrupt-{at}" for at in (1, 2, 3)} <= names


def test_an_empty_file_is_an_empty_corpus(corpus: Corpus) -> None:
    corpus.store.folder.mkdir()
    corpus.store.database.path.touch()
    assert corpus.past_cases(QUERY) == ()
    assert corpus.experience().records == ()
    assert corpus.keep_entries(lambda: [attempt(1)]) is None
    assert corpus.notes == []


def test_a_read_only_folder_is_read_and_a_note_says_that_nothing_was_kept() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name) / "data"
        Corpus.of_user(folder=folder).keep_entries(lambda: [attempt(1), attempt(2, "proven")])
        Path(name).chmod(0o755)
        folder.chmod(0o555)
        for each in folder.iterdir():
            each.chmod(0o444)
        seen = as_another(folder, Path(name))
        folder.chmod(0o755)
    assert seen["kept"] == "corpus-read-only"
    assert "nothing can be kept here" in str(seen["text"])
    assert seen["cases"] == 2
    assert seen["records"] == 2
    assert seen["no"] == "corpus-read-only"


def test_a_folder_that_cannot_be_made_is_a_note() -> None:
    with TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        seen = as_another(Path(name) / "data", Path(name))
        Path(name).chmod(0o755)
    assert (seen["kept"], seen["cases"], seen["records"]) == ("corpus-read-only", 0, 0)


def test_a_file_where_the_folder_should_be_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    corpus = Corpus.of_user(folder=tmp_path / "data")
    note = corpus.keep_entries(lambda: [attempt(1)])
    assert note is not None
    assert note.code == "corpus-read-only"
    assert corpus.past_cases(QUERY) == ()


def test_a_full_disk_keeps_what_was_there_and_says_that_nothing_was_added(corpus: Corpus) -> None:
    corpus.keep_entries(lambda: [attempt(1)])
    with closing(sqlite3.connect(corpus.store.database.path)) as base:
        (pages,) = base.execute("PRAGMA page_count").fetchone()
    corpus.store.database.page_limit = pages + 3
    note = corpus.keep_entries(lambda: [attempt(number, patch="x = 1;\n" * 3000) for number in range(2, 9)])
    assert note is not None
    assert note.code == "corpus-full"
    assert "no space" in note.text
    assert [row.entry.number for row in corpus.store.rows()] == [1]
    corpus.store.database.page_limit = None
    assert corpus.keep_entries(lambda: [attempt(2)]) is None


def test_a_disk_that_is_full_before_the_first_attempt_is_a_note(corpus: Corpus) -> None:
    corpus.store.database.page_limit = 2
    note = corpus.keep_entries(lambda: [attempt(1)])
    assert note is not None
    assert note.code == "corpus-full"
    assert corpus.store.rows() == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs a tmpfs")
def test_a_really_full_disk_is_a_note(tmp_path: Path) -> None:
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        corpus = Corpus.of_user(folder=tmp_path / "data")
        notes = [corpus.keep_entries(lambda at=at: [attempt(at, patch="x = 1;\n" * 3000)]) for at in range(20)]
        kept = sum(note is None for note in notes)
        assert notes[-1] is not None
        assert {note.code for note in notes if note is not None} == {"corpus-full"}
        assert len(corpus.store.rows()) == kept
        with (tmp_path / "fill").open("wb", buffering=0) as rest, contextlib.suppress(OSError):
            while rest.write(bytes(512)):
                pass
        assert len(corpus.store.rows()) == kept  # to the last byte: still read, and said plainly
        note = corpus.keep_entries(lambda: [attempt(99)])
        assert note is not None
        assert note.code == "corpus-full"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_corpus_that_others_hold_is_a_note_and_not_a_hang(corpus: Corpus) -> None:
    corpus.keep_entries(lambda: [attempt(1)])
    corpus.store.database.wait_s = 0.05
    with closing(sqlite3.connect(corpus.store.database.path, isolation_level=None)) as base:
        base.execute("BEGIN IMMEDIATE")
        note = corpus.keep_entries(lambda: [attempt(2)])
        assert len(corpus.store.rows()) == 1  # reading goes on
        base.execute("ROLLBACK")
    assert note is not None
    assert note.code == "corpus-busy"


def test_a_rewriting_that_no_entry_fits_is_a_note_and_not_an_error(corpus: Corpus, rewriting: Rewriting) -> None:
    late = rewriting.model_copy(update={"started": "yesterday"})
    proof = Proof(state="proven", sentence="", details={"gates": [{"status": "pass"}]})
    odd = rewriting.model_copy(update={"attempts": (rewriting.attempts[0].model_copy(update={"proof": proof}),)})
    for each, code in ((late, "corpus-refused"), (odd, "corpus-unusable")):
        note = corpus.keep(each)
        assert note is not None
        assert note.code == code
    assert corpus.store.rows() == []


def test_an_attempt_that_is_damaged_is_left_out_and_named(corpus: Corpus, tmp_path: Path) -> None:
    entries = [attempt(at, "proven", transformation=f"way-{at}", code=f"void k() {{ x{at}(); }}") for at in range(5)]
    corpus.store.add(entries)
    broken = sorted(each.key for each in entries)[0]
    with closing(sqlite3.connect(corpus.store.database.path)) as base, base:
        base.execute("UPDATE attempts SET body = substr(body, 1, 200) || char(1) WHERE key = ?", (broken,))
    assert len(list(corpus.store.each_row(batch=1))) == 4
    assert len(corpus.past_cases(Query.of_entry(entries[0]), most=10)) == 4
    (note,) = {note.text for note in corpus.notes if note.code == "corpus-row"}
    assert broken[:12] in note
    with pytest.raises(UnknownAttemptError, match=f"attempt {broken[:12]} .* is damaged"):
        corpus.store.find(broken)


def test_the_same_hindrance_is_told_once(corpus: Corpus) -> None:
    corpus.store.folder.mkdir(parents=True)
    with closing(sqlite3.connect(corpus.store.database.path)) as base, base:
        base.execute("PRAGMA user_version = 99")
        base.execute(f"PRAGMA application_id = {APPLICATION}")
    assert corpus.past_cases(Query(rules={})) == ()
    assert corpus.experience().records == ()
    assert corpus.keep_entries(lambda: [attempt(1)]) is not None
    assert [note.code for note in corpus.notes] == ["corpus-newer"]
