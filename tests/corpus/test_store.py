"""The store keeps attempts once, whole or not at all, whoever else writes, and never loses what was proven."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from entries import attempt

from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.failures import NewerError
from optimas_lsp.corpus.model import Entry
from optimas_lsp.corpus.schema import APPLICATION, VERSION
from optimas_lsp.corpus.shape import HASHES, sketch_of
from optimas_lsp.corpus.store import Store

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from entries import attempt
from optimas_lsp.corpus.store import Store
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in map(int, sys.argv[2].split(",")):
    store.add([attempt(number), attempt(number + 100_000, "proven")])
    print(number, flush=True)
"""

STUCK = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from entries import attempt
from optimas_lsp.corpus import store
kept = store.Store(Path(sys.argv[1]))
insert = store._insert
def stuck(base, entry, body, dataset):
    new = insert(base, entry, body, dataset)
    if entry.number == 3:
        print("inside", flush=True)
        sys.stdin.readline()
    return new
store._insert = stuck
kept.add([attempt(number) for number in (1, 2, 3)])
"""


def start(program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *words, str(HERE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def assert_whole(store: Store) -> None:
    """Every attempt has its code, its findings and its steps, and nothing belongs to no attempt."""
    with closing(sqlite3.connect(store.database.path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert base.execute("PRAGMA foreign_key_check").fetchall() == []
        for table in ("findings", "steps"):
            own = {attempt for (attempt,) in base.execute(f"SELECT attempt FROM {table}")}  # noqa: S608
            assert own == {key for (key,) in base.execute("SELECT key FROM attempts")}
        assert base.execute(
            "SELECT count(*) FROM codes WHERE sha256 NOT IN (SELECT code FROM attempts)"
        ).fetchone() == (0,)
    for row in store.each_row():
        assert row.entry.key == row.entry.digest()


def test_what_is_kept_comes_back_as_it_was(corpus: Corpus) -> None:
    entry = attempt(7, "proven", scores={"schema": "optimas.ear/1", "coverage": 0.5}, explanation=("it waits",))
    kept = corpus.store.add([entry, entry])
    assert (kept.new, kept.known) == (1, 1)
    assert corpus.store.find(entry.key[:10]).entry == entry


def test_the_same_attempt_on_another_day_is_the_same(corpus: Corpus) -> None:
    corpus.store.add([attempt(1)])
    assert corpus.store.add([attempt(1, date="2027-03-04T05:06:07+00:00")]).new == 0


def test_a_new_field_with_a_default_changes_no_key() -> None:
    class Later(Entry):
        humidity: float | None = None

    known = attempt(1)
    later = Later.model_validate(known.model_dump(by_alias=True))
    assert later.digest() == known.key
    assert later.model_copy(update={"humidity": 0.4}).digest() != known.key


def test_the_code_of_a_kernel_is_kept_once(corpus: Corpus) -> None:
    code = "__global__ void kernel(int* a) { a[0] = 1; }"
    corpus.store.add([attempt(number, code=code) for number in range(20)])
    assert corpus.store.query(lambda base: base.execute("SELECT count(*) FROM codes").fetchall()) == [(1,)]


def test_a_version_1_file_becomes_the_current_version_with_everything_in_it(corpus: Corpus) -> None:
    corpus.store.folder.mkdir()
    with closing(sqlite3.connect(corpus.store.database.path, isolation_level=None)) as base:
        base.executescript((HERE / "data" / "version-1.sql").read_text("utf-8"))
        assert base.execute("PRAGMA user_version").fetchone() == (1,)
    before = {row.entry.key: row for row in corpus.store.each_row()}  # reading migrates a copy only
    assert corpus.store.add([attempt(3)]).new == 1
    with closing(sqlite3.connect(corpus.store.database.path)) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert base.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        sketches = base.execute("SELECT text, sketch FROM codes").fetchall()
        assert {generation for (generation,) in base.execute("SELECT generation FROM attempts")} == {"sm_9"}
    assert len(sketches) == 3
    for text, sketch in sketches:
        assert sketch == sketch_of(text)
        assert len(sketch) == 4 * HASHES
    after = {row.entry.key: row for row in corpus.store.each_row()}
    proven = corpus.experience().of("unroll-loop", ("long_scoreboard",))
    assert proven is not None
    assert (proven.tries, proven.proven, proven.effect) == (2, 1, 1.5)
    assert len(before) == 2
    assert {key: after[key] for key in before} == before
    assert {row.entry.ending for row in before.values()} == {"proven", "refuted"}
    assert_whole(corpus.store)


def test_a_newer_file_is_left_alone_and_the_note_says_so(corpus: Corpus) -> None:
    corpus.store.add([attempt(1)])
    with closing(sqlite3.connect(corpus.store.database.path)) as base:
        base.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(NewerError, match="newer optimas-lsp"):
        corpus.store.rows()
    note = corpus.keep_entries(lambda: [attempt(2)])
    assert note is not None
    assert note.code == "corpus-newer"
    with closing(sqlite3.connect(corpus.store.database.path)) as base:
        assert base.execute("SELECT count(*) FROM attempts").fetchone() == (1,)
        assert base.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)


def test_another_programs_database_is_left_alone(corpus: Corpus) -> None:
    corpus.store.folder.mkdir()
    with closing(sqlite3.connect(corpus.store.database.path)) as base:
        base.execute("CREATE TABLE theirs (a)")
    data = corpus.store.database.path.read_bytes()
    note = corpus.keep_entries(lambda: [attempt(1)])
    assert note is not None
    assert "another program's database" in note.text
    assert corpus.store.database.path.read_bytes() == data


def test_processes_that_write_at_once_lose_nothing(corpus: Corpus) -> None:
    folder = str(corpus.store.folder)
    shared = list(range(1000, 1012))
    own = [list(range(100 * at, 100 * at + 12)) for at in range(4)]
    writers = [start(WRITER, folder, ",".join(map(str, [*mine, *shared]))) for mine in own]
    assert [said(each) for each in writers] == ["ready"] * 4
    for each in writers:
        tell(each)
    for each in writers:
        each.communicate(timeout=100)
        assert each.returncode == 0
    numbers = {row.entry.number for row in corpus.store.each_row()}
    wanted = {number for mine in own for number in mine} | set(shared)
    assert numbers == wanted | {number + 100_000 for number in wanted}
    assert_whole(corpus.store)


def test_processes_that_find_a_damaged_file_set_it_aside_once_and_lose_nothing(corpus: Corpus) -> None:
    corpus.store.folder.mkdir()
    corpus.store.database.path.write_bytes(b"damaged " * 5000)
    writers = [start(WRITER, str(corpus.store.folder), f"{at},{at + 10}") for at in range(4)]
    assert [said(each) for each in writers] == ["ready"] * 4
    for each in writers:
        tell(each)
    for each in writers:
        each.communicate(timeout=100)
        assert each.returncode == 0
    kept = [each.name for each in corpus.store.folder.iterdir() if "corrupt" in each.name]
    assert kept == ["corpus.sqlite.corrupt-1"]
    wanted = {number for at in range(4) for number in (at, at + 10)}
    assert {row.entry.number for row in corpus.store.each_row()} == wanted | {number + 100_000 for number in wanted}
    assert_whole(corpus.store)


def test_a_killed_process_leaves_nothing_half_written(corpus: Corpus) -> None:
    folder = str(corpus.store.folder)
    acknowledged: set[int] = set()
    for round_ in range(6):
        writer = start(WRITER, folder, ",".join(str(1000 * round_ + at) for at in range(200)))
        assert said(writer) == "ready"
        tell(writer)
        for _ in range(1 + round_):
            acknowledged.add(int(said(writer)))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        numbers = {row.entry.number for row in corpus.store.each_row()}
        assert acknowledged <= numbers
        assert {number + 100_000 for number in numbers if number < 100_000} == {
            number for number in numbers if number >= 100_000
        }
        assert_whole(corpus.store)


def test_a_process_killed_inside_a_transaction_leaves_none_of_it_and_blocks_nobody(corpus: Corpus) -> None:
    corpus.store.add([attempt(50)])
    stuck = start(STUCK, str(corpus.store.folder))
    assert said(stuck) == "inside"
    assert len(corpus.store.rows()) == 1
    stuck.send_signal(signal.SIGKILL)
    stuck.communicate()
    assert corpus.store.add([attempt(51)]).new == 1
    assert {row.entry.number for row in corpus.store.each_row()} == {50, 51}
    assert_whole(corpus.store)


def test_pruning_drops_the_oldest_unproven_and_never_a_proven_attempt(corpus: Corpus) -> None:
    store = corpus.store
    long = "x = 1;\n" * 2000
    entries = [
        attempt(number, "proven" if number % 4 == 0 else "refuted", patch=long, date=f"2026-12-{1 + number % 28:02d}")
        for number in range(200)
    ]
    store.add(entries)
    unwanted = next(each for each in entries if each.ending == "refuted" and each.date == "2026-12-02")
    store.say_no(unwanted.key, "slow to read", "rejected")
    assert store.prune(limit_mb=2) > 0
    left = list(store.each_row())
    assert sum(row.entry.ending == "proven" for row in left) == 50
    refuted = [row for row in left if row.entry.ending == "refuted"]
    assert 0 < len(refuted) < 150
    assert unwanted.key in {row.entry.key for row in refuted}
    gone = {each.date for each in entries} - {row.entry.date for row in refuted if row.entry.key != unwanted.key}
    oldest_left = min(row.entry.date for row in refuted if row.entry.key != unwanted.key)
    assert all(date <= oldest_left for date in gone if date not in {each.date for each in entries[::4]})
    assert store.database.path.stat().st_size < 2.2 * 2**20
    assert_whole(store)


def test_a_limit_that_proven_attempts_alone_pass_keeps_them_all(corpus: Corpus) -> None:
    store = corpus.store
    store.add([attempt(number, "proven", patch="x = 1;\n" * 4000) for number in range(60)])
    store.limit_mb = 1
    store.add([attempt(100, "refuted"), attempt(101, "proven")])
    assert {row.entry.number for row in store.each_row()} == {*range(60), 101}


def test_a_second_no_for_the_same_reason_counts_once(corpus: Corpus) -> None:
    corpus.store.add([attempt(1, "proven")])
    key = attempt(1, "proven").key
    for _ in range(2):
        corpus.store.say_no(key[:8], "hard to read", "rejected")
    corpus.store.say_no(key[:8], "slower on our cluster", "reverted")
    assert [(each.kind, each.reason) for each in corpus.store.find(key).noes] == [
        ("rejected", "hard to read"),
        ("reverted", "slower on our cluster"),
    ]


def test_an_attempt_larger_than_any_real_one_is_refused_and_the_rest_kept(corpus: Corpus) -> None:
    note = corpus.keep_entries(lambda: [attempt(1, patch="x" * 3_000_000), attempt(2)])
    assert note is not None
    assert note.code == "corpus-refused"
    assert "MB" in note.text
    assert [row.entry.number for row in corpus.store.rows()] == [2]
