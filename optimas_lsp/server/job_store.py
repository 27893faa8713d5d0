"""Keeps jobs and their outcomes in the user's state folder, a file each, so that they survive the server.

One folder a workspace folder. Every function blocks and is called off the event loop.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optimas_lsp.profile.replace import write_atomically
from optimas_lsp.rewrite.consent import state_folder
from optimas_lsp.server.job import Job
from optimas_lsp.server.locations import path_of, same_place
from optimas_lsp.server.regions import agree

logger = logging.getLogger(__name__)

KEPT = 30
"""Jobs kept for one workspace folder; the oldest that are over go first."""

JOB, OUTCOME = ".job.json", ".outcome.json"


@dataclass(frozen=True)
class JobStore:
    """The jobs of one user. ``root`` is the state folder."""

    root: Path

    @classmethod
    def of_user(cls) -> JobStore:
        """In ``$OPTIMAS_STATE_DIR`` or the user's own state folder."""
        return cls(state_folder())

    def _home(self, folder: Path) -> Path:
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        return self.root / "jobs" / name

    def save(self, job: Job) -> None:
        """Keep ``job``; raises OSError."""
        home = self._home(job.folder)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(home / (job.id + JOB), job.model_dump_json(indent=1).encode())

    def save_outcome(self, job: Job, outcome: dict[str, Any]) -> None:
        """Keep the outcome of ``job`` (JSON, optimas.rewrite/1); raises OSError."""
        home = self._home(job.folder)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(home / (job.id + OUTCOME), json.dumps(outcome).encode())

    def outcome_path(self, job: Job) -> Path:
        """Where the outcome is, if there is one."""
        return self._home(job.folder) / (job.id + OUTCOME)

    def forget(self, job: Job) -> None:
        """Remove ``job`` and its outcome."""
        home = self._home(job.folder)
        for suffix in (OUTCOME, JOB):
            (home / (job.id + suffix)).unlink(missing_ok=True)

    def load(self, folders: Sequence[Path]) -> list[Job]:
        """The jobs of ``folders``, oldest first; those that another living server runs are left out.

        One whose server ended before it did is marked interrupted. What cannot be read is left out.
        """
        found: list[Job] = []
        for folder in folders:
            mine: list[Job] = []
            for path in sorted(self._home(folder).glob("*" + JOB)):
                try:
                    job = Job.model_validate_json(path.read_bytes())
                except (OSError, ValidationError) as error:
                    logger.warning("a job is not readable: %s: %s", path, error)
                    continue
                if complaint := _complaint(job, path, folder):
                    logger.warning("a job is left out: %s: %s", path, complaint)
                    continue
                if job.live and job.owner != os.getpid():
                    if _alive(job.owner):
                        continue
                    job = _interrupted(job)
                    try:
                        self.save(job)
                    except OSError as error:
                        logger.warning("a job cannot be kept: %s: %s", path, error)
                mine.append(job)
            mine.sort(key=lambda job: job.created)
            for old in mine[:-KEPT]:
                with contextlib.suppress(OSError):
                    self.forget(old)
            found += mine[-KEPT:]
        return found


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


def _interrupted(job: Job) -> Job:
    words = "the server ended before this did; nothing was changed. Run it again."
    return job.model_copy(update={"state": "interrupted", "sentence": words, "owner": 0})


def _alive(pid: int) -> bool:
    """Whether a process with this id runs Python code of ours, as far as the system tells."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    try:
        return b"optimas" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True
