"""Keeps jobs and their outcomes in the user's state folder, a file each, so that they survive the server.

One folder a workspace folder, which several servers may share: a job belongs to the server that it names as long as
that lives (``presence.py``), and only that one writes it. Everything here blocks and is called off the event loop.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optimas_lsp.profile.regular import read_regular
from optimas_lsp.profile.replace import remove_parts, write_atomically
from optimas_lsp.profile.turn import turn
from optimas_lsp.rewrite.consent import state_folder
from optimas_lsp.server.job import Job
from optimas_lsp.server.locations import path_of, same_place
from optimas_lsp.server.presence import Presence
from optimas_lsp.server.regions import agree
from optimas_lsp.server.reports import Stamp

logger = logging.getLogger(__name__)

KEPT = 30
"""Jobs kept for one workspace folder; the oldest that are over go first."""

LIMIT = 64 * 1024 * 1024
"""Bytes of the largest kept job that is read."""

JOB, OUTCOME, TURN = ".job.json", ".outcome.json", ".turn"

UNREAD = Stamp(0, -1, 0)
"""The stamp of a file that could not be read: no file has it."""


@dataclass(frozen=True)
class Look:
    """What one look at a folder's jobs found: each kept file by its stamp, and the jobs of those that are news.

    ``files`` is None where the folder could not be looked at, or nothing was ever kept: then nothing is known.
    """

    files: Mapping[str, Stamp] | None
    jobs: tuple[Job, ...] = ()


class JobStore:
    """The jobs of one user, kept below the state folder ``root``; ``presence`` is this server among its likes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.presence = Presence(root)
        self._complained: set[Path] = set()

    @classmethod
    def of_user(cls) -> JobStore:
        """In ``$OPTIMAS_STATE_DIR`` or the user's own state folder."""
        return cls(state_folder())

    def _home(self, folder: Path) -> Path:
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        return self.root / "jobs" / name

    def save(self, job: Job) -> None:
        """Keep ``job``; raises OSError, also where others could not see that the server of a live job lives."""
        if job.live:
            self.presence.hold()
        home = self._home(job.folder)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(home / (job.id + JOB), job.model_dump_json(indent=1).encode())

    def claim(self, job: Job) -> tuple[Job, Job | None]:
        """Keep a new job, unless one of another server, that is not over, would rewrite the same: that is the second.

        The first is ``job`` with its number. Raises OSError, TimeoutError where another server holds the list and was
        stopped: that one may be about to run the same.
        """
        with turn(self._home(job.folder) / TURN):
            kept = self.look(job.folder, {}).jobs
            other = next((each for each in kept if each.live and each.owner != job.owner and each.conflicts(job)), None)
            job = job.model_copy(update={"number": max([job.number, *(each.number + 1 for each in kept)])})
            if other is None:
                self.save(job)
        return job, other

    def stand_by(self, jobs: Sequence[Job]) -> list[Job]:
        """Those of this server's live ``jobs`` that are on disk no more, because the state folder was emptied.

        The sign that this server lives is put back at once.
        """
        with contextlib.suppress(OSError):  # then saving complains
            self.presence.hold()
        return [job for job in jobs if not (self._home(job.folder) / (job.id + JOB)).exists()]

    def save_outcome(self, job: Job, outcome: dict[str, Any]) -> None:
        """Keep the outcome of ``job`` (JSON, optimas.rewrite/1); raises OSError."""
        home = self._home(job.folder)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(home / (job.id + OUTCOME), json.dumps(outcome).encode())

    def outcome_path(self, job: Job) -> Path:
        """Where the outcome is, if there is one."""
        return self._home(job.folder) / (job.id + OUTCOME)

    def forget(self, job: Job) -> None:
        """Remove ``job`` and its outcome; raises OSError."""
        home = self._home(job.folder)
        for suffix in (OUTCOME, JOB):
            (home / (job.id + suffix)).unlink(missing_ok=True)

    def load(self, folders: Sequence[Path]) -> list[Job]:
        """The jobs of ``folders``, oldest first, those of other servers among them; too old ones are removed."""
        found: list[Job] = []
        for folder in folders:
            remove_parts(self._home(folder))
            jobs = sorted(self.look(folder, {}).jobs, key=lambda job: job.age)
            old = [job for job in jobs if not job.live][:-KEPT]
            for each in old:
                with contextlib.suppress(OSError):
                    self.forget(each)
            found += [job for job in jobs if job not in old]
        return found

    def look(self, folder: Path, before: Mapping[str, Stamp], watched: Collection[str] = ()) -> Look:
        """Which jobs of ``folder`` are news since the files were as ``before``; those ``watched`` (ids) always are.

        One whose server ended before it did is marked interrupted. What cannot be read is left out.
        """
        files: dict[str, Stamp] = {}
        jobs: list[Job] = []
        try:
            with os.scandir(self._home(folder)) as entries:
                for entry in entries:
                    if entry.name.endswith(JOB):
                        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                            now = entry.stat(follow_symlinks=False)
                            if not stat.S_ISREG(now.st_mode):
                                continue
                            files[entry.name.removesuffix(JOB)] = Stamp(now.st_mtime_ns, now.st_size, now.st_ino)
        except OSError as error:
            if not isinstance(error, FileNotFoundError) and folder not in self._complained:
                self._complained.add(folder)
                logger.warning("the jobs of %s cannot be looked at: %s", folder, error)
            return Look(None)
        for identifier, stamp in list(files.items()):
            if stamp != before.get(identifier) or identifier in watched:
                try:
                    job = self._read(identifier, folder)
                except OSError as error:  # it is looked at again the next time
                    if (path := self._home(folder) / (identifier + JOB)) not in self._complained:
                        self._complained.add(path)
                        logger.warning("a job is not readable: %s: %s", path, error)
                    files[identifier] = UNREAD
                    continue
                if job is not None and job.live and not self.presence.alive(job.owner):
                    job = self._of_the_dead(job)
                if job is not None:
                    jobs.append(job)
        return Look(files, tuple(jobs))

    def _read(self, identifier: str, folder: Path) -> Job | None:
        """The kept job, None without one that can be believed; raises OSError."""
        path = self._home(folder) / (identifier + JOB)
        try:
            job = Job.model_validate_json(read_regular(path, LIMIT))
        except FileNotFoundError:  # removed meanwhile
            return None
        except ValidationError as error:
            logger.warning("a job is not readable: %s: %s", path, error)
            return None
        if complaint := _complaint(job, path, folder):
            logger.warning("a job is left out: %s: %s", path, complaint)
            return None
        return job

    def _of_the_dead(self, job: Job) -> Job | None:
        """A job whose server is dead: read again, because it may have been over before that; else interrupted."""
        try:
            last = self._read(job.id, job.folder)
        except OSError:
            return None
        if last is None or not last.live or last.owner != job.owner:
            return last
        words = "the server ended before this did; nothing was changed. Run it again."
        last = last.model_copy(update={"state": "interrupted", "sentence": words, "owner": ""})
        try:
            self.save(last)
        except OSError as error:
            logger.warning("a job cannot be kept: %s: %s", last.id, error)
        return last


def _complaint(job: Job, path: Path, folder: Path) -> str:
    """Why a kept job is not believed; empty for one that this program can have written.

    An edit is applied to the file that the job names: a damaged or foreign job must not name another one.
    """
    if not re.fullmatch(r"[0-9a-f]{8}", job.id) or path.name != job.id + JOB:
        return "it has another job's name"
    named = path_of(job.uri)
    if job.folder != folder or ".." in job.path.parts or not job.path.is_relative_to(folder):
        return "it is about a file outside of the folder"
    if named is None or same_place(named) != job.path:
        return "it names two files"
    if job.edits and not agree(job.blocks, job.edits):
        return "its edits are not for the lines it is about"
    return ""
