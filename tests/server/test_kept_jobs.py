"""What is kept of jobs is believed only where this program can have written it, for a file of its own folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.server.job import Job, Proven
from optimas_lsp.server.job_store import KEPT, JobStore, Look
from optimas_lsp.server.presence import Presence
from optimas_lsp.server.regions import Block, Edit

BEFORE, AFTER = ("void k()\n", "{ a; }\n"), ("void k()\n", "{ b; }\n")


def job(folder: Path, **more: Any) -> Job:
    path = folder / "a.cu"
    fields: dict[str, Any] = {
        "id": "0123abcd", "title": "Optimise k", "state": "done", "path": path, "uri": path.as_uri(), "folder": folder,
        "report": folder / "a.ncu-rep", "kernel": "k", "mangled": "_Z1kv", "created": "2026-01-01T00:00:00+00:00",
        "status": "candidate", "proven": Proven(state="proven"),
        "blocks": (Block(first=1, before=BEFORE, after=AFTER),),
        "edits": (Edit(first=2, before=BEFORE[1:], after=AFTER[1:]),),
    }  # fmt: skip
    return Job.model_validate(fields | more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "program"
    home.mkdir()
    return home


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    return JobStore(tmp_path / "state")


def written(store: JobStore, folder: Path, kept: Job, name: str | None = None) -> Path:
    """Put ``kept`` where the jobs of ``folder`` are, whatever it says itself."""
    home = store.outcome_path(job(folder)).parent
    home.mkdir(parents=True, exist_ok=True)
    place = home / f"{name or kept.id}.job.json"
    place.write_text(kept.model_dump_json())
    return place


def test_what_was_kept_comes_back(store: JobStore, folder: Path) -> None:
    store.save(job(folder))
    assert store.load([folder]) == [job(folder)]


@pytest.mark.parametrize(
    "foreign",
    [
        lambda folder: {"path": folder.parent / "b.cu", "uri": (folder.parent / "b.cu").as_uri()},
        lambda folder: {"path": folder / ".." / "b.cu", "uri": f"{folder.as_uri()}/../b.cu"},
        lambda folder: {"uri": (folder / "b.cu").as_uri()},
        lambda folder: {"uri": "https://example.org/a.cu"},
        lambda folder: {"folder": folder.parent},
        lambda folder: {"edits": (Edit(first=2, before=("{ c; }\n",), after=("{ b; }\n",)),)},
        lambda folder: {"edits": (Edit(first=9, before=(), after=("{ b; }\n",)),)},
        lambda folder: {"blocks": (Block(first=1, before=BEFORE, after=BEFORE),)},
    ],
)
def test_an_edit_for_another_file_or_other_lines_is_left_out(
    store: JobStore, folder: Path, foreign: Callable[[Path], dict[str, Any]]
) -> None:
    written(store, folder, job(folder).model_copy(update=foreign(folder)))
    assert store.load([folder]) == []


@pytest.mark.parametrize("identifier", ["../../escape", "..", "", "0123ABCD", "0123abcde"])
def test_a_job_is_called_as_its_file_and_never_leads_out_of_its_folder(
    store: JobStore, folder: Path, identifier: str
) -> None:
    written(store, folder, job(folder, id=identifier), "0123abcd")
    assert store.load([folder]) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b'{"id": 1}', b"\xff\xfe"])
def test_what_cannot_be_read_leaves_the_others(store: JobStore, folder: Path, content: bytes) -> None:
    store.save(job(folder))
    written(store, folder, job(folder), "fedcba98").write_bytes(content)
    assert store.load([folder]) == [job(folder)]


def running(folder: Path, store: JobStore, **more: Any) -> Job:
    return job(folder, state="running", owner=store.presence.id, edits=(), **more)


def test_a_job_of_a_server_that_lives_is_left_to_it_and_one_of_a_dead_server_is_interrupted(
    store: JobStore, folder: Path
) -> None:
    other = JobStore(store.root)
    other.save(running(folder, other))
    assert [each.state for each in store.load([folder])] == ["running"]
    other.presence.leave()
    assert [(each.state, each.owner) for each in store.load([folder])] == [("interrupted", "")]
    assert [each.state for each in JobStore(store.root).load([folder])] == ["interrupted"]


@pytest.mark.parametrize("owner", [1, 0, "", "../../0123456789abcdef", "0" * 16])
def test_no_process_id_is_believed_and_no_owner_leads_out_of_the_folder(
    store: JobStore, folder: Path, owner: object
) -> None:
    place = written(store, folder, running(folder, store))
    place.write_text(json.dumps(json.loads(place.read_text()) | {"owner": owner}))
    assert [each.state for each in store.load([folder])] == ["interrupted"]


def test_what_was_over_when_its_server_died_stays_so(store: JobStore, folder: Path) -> None:
    other = JobStore(store.root)
    other.save(running(folder, other))

    class Dying(Presence):
        def alive(self, identifier: str) -> bool:
            other.save(job(folder))
            return False

    store.presence = Dying(store.root)
    assert [each.state for each in store.load([folder])] == ["done"]


def test_only_news_are_read_again(store: JobStore, folder: Path) -> None:
    assert store.look(folder, {}) == Look(None)
    store.save(job(folder))
    first = store.look(folder, {})
    assert [each.id for each in first.jobs] == ["0123abcd"]
    assert first.files is not None
    assert store.look(folder, first.files).jobs == ()
    assert [each.id for each in store.look(folder, first.files, ["0123abcd"]).jobs] == ["0123abcd"]
    store.save(job(folder, sentence="it says more"))
    assert [each.sentence for each in store.look(folder, first.files).jobs] == ["it says more"]
    store.forget(job(folder))
    assert store.look(folder, first.files) == Look({})


def test_the_same_is_claimed_by_one_server_and_numbers_go_on_when_the_clock_is_set_back(
    store: JobStore, folder: Path
) -> None:
    other = JobStore(store.root)
    first, taken = store.claim(running(folder, store, id="00000001"))
    assert (taken, first.number) == (None, 0)
    _, taken = other.claim(running(folder, other, id="00000002"))
    assert taken == first
    assert [each.id for each in store.load([folder])] == ["00000001"]
    elsewhere = {"path": folder / "b.cu", "uri": (folder / "b.cu").as_uri(), "created": "1999-01-01T00:00:00+00:00"}
    later, taken = other.claim(running(folder, other, id="00000003", **elsewhere))
    assert (taken, later.number) == (None, 1)
    assert [each.id for each in store.load([folder])] == ["00000001", "00000003"]


def test_the_oldest_that_are_over_go_and_never_a_live_one(store: JobStore, folder: Path) -> None:
    other = JobStore(store.root)
    other.save(running(folder, other, id="ffffffff", number=0))
    for number in range(KEPT + 2):  # a clock that is set back tells nothing about which is the oldest
        store.save(job(folder, id=f"{number:08x}", number=1 + number, created=f"{2090 - number}-01-01T00:00:00+00:00"))
    kept = store.load([folder])
    assert [each.id for each in kept] == ["ffffffff", *(f"{number:08x}" for number in range(2, KEPT + 2))]


def test_a_server_whose_own_file_was_removed_is_seen_again(store: JobStore, folder: Path) -> None:
    other = JobStore(store.root)
    other.presence.hold()
    assert store.presence.alive(other.presence.id)
    shutil.rmtree(store.root)
    other.save(running(folder, other))
    assert store.presence.alive(other.presence.id)
    assert [each.state for each in store.load([folder])] == ["running"]
