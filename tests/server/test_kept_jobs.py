"""What is kept of jobs is believed only where this program can have written it, for a file of its own folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.server.job import Job, Proven
from optimas_lsp.server.job_store import JobStore
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
