"""Whatever lies in the state folder, and however its file system fails: nothing waits, is lost or leaves the folder."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.profile import turn as turns
from optimas_lsp.server import course_process, job_store, known
from optimas_lsp.server.job_store import JOB, JobStore
from optimas_lsp.server.known import Known
from optimas_lsp.server.presence import SUFFIX, Presence
from tests.server.test_kept_jobs import folder, job, running, store, written

__all__ = ["folder", "store"]  # fixtures

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes, links and flock")


def pipe(place: Path) -> None:
    os.mkfifo(place)


def a_socket(place: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(place.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.fchdir(here)
        os.close(here)


def loop(place: Path) -> None:
    place.symlink_to(place)


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 32)


ODD: list[Callable[[Path], object]] = [pipe, a_socket, loop, device, huge, Path.mkdir]


@pytest.mark.parametrize("make", ODD)
def test_what_is_no_kept_job_is_left_out_without_waiting(
    store: JobStore, folder: Path, make: Callable[[Path], object]
) -> None:
    store.save(job(folder))
    make(store.outcome_path(job(folder)).with_name("fedcba98" + JOB))
    assert store.load([folder]) == [job(folder)]
    assert [each.id for each in store.look(folder, {}, ["fedcba98"]).jobs] == ["0123abcd"]


@pytest.mark.parametrize("make", ODD)
def test_what_stands_in_place_of_the_marks_is_no_mark(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object]
) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    place = known._place(folder)
    place.parent.mkdir(parents=True)
    make(place)
    assert known.load([folder]) == frozenset()


@pytest.mark.parametrize("make", [pipe, loop, device])
def test_what_stands_in_place_of_a_servers_sign_tells_of_no_server(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    presence = Presence(tmp_path)
    (tmp_path / "servers").mkdir()
    make(tmp_path / "servers" / ("0" * 16 + SUFFIX))
    presence.sweep()
    assert not presence.alive("0" * 16)


def mark(name: str) -> Known:
    return Known("a.cu", "k", name, "line")


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff\xfe", b'{"known": 3}', b'{"known": [1]}', b"{}", b""])
def test_damaged_marks_count_as_none_and_are_kept_beside_the_new_ones(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    place = known._place(folder)
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    assert known.load([folder]) == frozenset()
    known.change(folder, {mark("one")}, lambda _: False)
    assert known.load([folder]) == {mark("one")}
    assert place.with_suffix(".damaged").read_bytes() == content


def fails(number: int) -> Callable[..., bytes]:
    def read(path: Path, _limit: int) -> bytes:
        raise OSError(number, os.strerror(number), str(path))

    return read


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES, errno.EMFILE])
def test_marks_that_cannot_be_read_now_are_not_written_over(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    known.change(folder, {mark("one")}, lambda _: False)
    with monkeypatch.context() as now:
        now.setattr(known, "read_regular", fails(number))
        with pytest.raises(OSError, match=os.strerror(number)):
            known.change(folder, {mark("two")}, lambda _: False)
    known.change(folder, {mark("two")}, lambda _: False)
    assert known.load([folder]) == {mark("one"), mark("two")}


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES, errno.EMFILE])
def test_a_job_that_cannot_be_read_now_is_not_gone_and_is_read_the_next_time(
    store: JobStore, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    store.save(job(folder))
    with monkeypatch.context() as now:
        now.setattr(job_store, "read_regular", fails(number))
        first = store.look(folder, {})
    assert first.jobs == ()
    assert list(first.files or ()) == ["0123abcd"]
    assert store.look(folder, first.files or {}).jobs == (job(folder),)


def test_jobs_of_a_server_under_which_the_state_folder_was_emptied_are_named(store: JobStore, folder: Path) -> None:
    mine = running(folder, store)
    store.save(mine)
    assert store.stand_by([mine]) == []
    shutil.rmtree(store.root)
    other = JobStore(store.root)
    assert not other.presence.alive(store.presence.id)
    assert store.stand_by([mine]) == [mine]
    assert other.presence.alive(store.presence.id)


class NoLocks:
    """A file system that knows no locks."""

    LOCK_EX = LOCK_SH = LOCK_NB = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def flock(self, handle: object, how: int) -> None:
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_without_locks_marks_are_kept_and_nothing_is_believed_or_left(
    store: JobStore, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(store.root))
    other = JobStore(store.root)
    other.save(running(folder, other))
    monkeypatch.setattr(turns, "fcntl", NoLocks(number))
    known.change(folder, {mark("one")}, lambda _: False)
    assert known.load([folder]) == {mark("one")}
    assert [each.state for each in store.load([folder])] == ["running"]
    with pytest.raises(OSError, match=os.strerror(number)):
        store.save(running(folder, store, id="00000002"))
    assert [each.name for each in (store.root / "servers").iterdir()] == [other.presence.id + SUFFIX]


def test_a_temporary_folder_that_cannot_be_locked_is_used_and_never_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(turns, "fcntl", NoLocks(errno.ENOLCK))
    scratch = tmp_path / f"{course_process.SCRATCH}x"
    scratch.mkdir()
    with course_process._owned(scratch):
        monkeypatch.undo()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        course_process.sweep()
        assert scratch.exists()


def test_a_lock_that_was_removed_under_its_holder_is_made_anew_by_who_waited(tmp_path: Path) -> None:
    place = tmp_path / "x.turn"
    with turns.turn(place):
        place.unlink()
        with turns.turn(place, seconds=0.0):
            assert not turns.is_free(place)
        assert turns.is_free(place)


def test_a_list_that_a_stopped_server_holds_lets_no_job_be_claimed(
    store: JobStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = running(folder, store)
    monkeypatch.setattr(job_store, "turn", lambda path: turns.turn(path, seconds=0.0))
    with (
        turns.turn(store.outcome_path(mine).with_name(job_store.TURN)),
        pytest.raises(TimeoutError, match="does not go on"),
    ):
        store.claim(mine)
    assert store.load([folder]) == []
    assert store.claim(mine)[1] is None


def test_what_killed_writers_left_goes_after_a_day(store: JobStore, folder: Path) -> None:
    home = written(store, folder, job(folder)).parent
    (store.root / "servers").mkdir()
    for place in (home, store.root / "servers"):
        for name in (".x.job.json.1-ab.part", "x.new"):
            for age in ("old", "fresh"):
                made = place / f"{'' if name[0] != '.' else '.'}{age}-{name.lstrip('.')}"
                made.touch()
                if age == "old":
                    os.utime(made, (0, 0))
    store.load([folder])
    store.presence.sweep()
    assert [each.name for each in home.glob(".*.part")] == [".fresh-x.job.json.1-ab.part"]
    assert [each.name for each in (store.root / "servers").glob("*.new")] == ["fresh-x.new"]
