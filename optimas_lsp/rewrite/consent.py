"""Nothing leaves the machine and nothing is run before it was shown and accepted for this folder.

What was accepted is recorded in the user's own state folder, never in the workspace: a workspace that comes from
somewhere else can neither grant nor widen anything. A grant is for one folder and exactly one destination, or exactly
these commands; when either changes, the user is asked again. Grants can be listed and revoked.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import Field, TypeAdapter, ValidationError

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Frozen
from optimas_lsp.profile.regular import read_regular
from optimas_lsp.profile.replace import write_atomically
from optimas_lsp.profile.turn import turn

ENVIRONMENT = "OPTIMAS_STATE_DIR"
FILE_NAME = "consent.json"

LIMIT = 16 * 1024 * 1024
"""Bytes of the largest record that is read."""


class ConsentError(OptimasError):
    """Something was not accepted, or consents cannot be read or recorded."""


class Send(Frozen):
    """Code would leave for a service: where to, to which model, how much."""

    kind: Literal["send"] = "send"
    backend: str
    destination: str
    model: str = ""
    encrypted: bool = True
    size: int = Field(default=0, description="bytes of the first request; later ones add the answer and what is wrong")

    def identity(self) -> str:
        """What a grant is for; the size may differ from time to time."""
        return json.dumps(["send", self.backend, self.destination, self.model])

    def sentence(self) -> str:
        """What would happen, for the person who decides."""
        model = f", model {self.model}" if self.model else ""
        plain = "" if self.encrypted else ", NOT ENCRYPTED"
        return (
            f"send {self.size:,} bytes (the kernel's source, its device functions, the findings, past outcomes) to "
            f"{_plain(self.destination)} ({self.backend}{_plain(model)}{plain}); repairs send more of the same kind"
        )


class Run(Frozen):
    """Commands would be run, in a copy of the folder."""

    kind: Literal["run"] = "run"
    commands: tuple[tuple[str, ...], ...]
    why: str = ""

    def identity(self) -> str:
        """The exact commands, in order."""
        return json.dumps(["run", [list(command) for command in self.commands]])

    def sentence(self) -> str:
        """What would happen, for the person who decides."""
        shown = "".join(f"\n    {_plain(shlex.join(command))}" for command in self.commands)
        return f"run in a copy of the folder{f' ({_plain(self.why)})' if self.why else ''}:{shown}"


def _plain(text: str) -> str:
    """Text in which nothing can hide or move the cursor: characters that do not print are written as escapes."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


Action = Annotated[Send | Run, Field(discriminator="kind")]


class Grant(Frozen):
    """One recorded consent; ``folder`` is a real path, ``accepted`` a time in UTC."""

    folder: str
    action: Action
    accepted: datetime

    @property
    def id(self) -> str:
        """Short and stable, to name it by."""
        return hashlib.sha256(f"{self.folder}\0{self.action.identity()}".encode()).hexdigest()[:10]


_GRANTS = TypeAdapter(tuple[Grant, ...])

Ask = Callable[[Path, Sequence[Action]], bool]
"""Shows what would happen in a folder and returns whether the person accepts all of it."""


def state_folder() -> Path:
    """``$OPTIMAS_STATE_DIR``, else the user's state folder for this program; it may not exist yet."""
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named else platformdirs.user_state_path("optimas-lsp", appauthor=False)


@dataclass(frozen=True)
class Consents:
    """The record. Files are written whole, in one step, and changed by one process at a time: what is granted at the
    same moment is all kept, and what is revoked does not come back with another's grant."""

    path: Path

    @classmethod
    def of_user(cls) -> Consents:
        """The user's own record."""
        return cls(state_folder() / FILE_NAME)

    def grants(self) -> tuple[Grant, ...]:
        """Everything accepted, oldest first; raises ConsentError for a record that cannot be understood."""
        try:
            data = read_regular(self.path, LIMIT)
        except FileNotFoundError:
            return ()
        except OSError as error:
            remedy = f"make it readable, or set {ENVIRONMENT} to a folder of yours"
            raise ConsentError(f"cannot be read: {error.strerror}", where=self.path, remedy=remedy) from None
        try:
            return _GRANTS.validate_json(data)
        except ValidationError:
            raise ConsentError(
                "the record of consents is damaged, so nothing counts as accepted",
                where=self.path,
                remedy="optimas consent revoke --all starts anew",
            ) from None

    def missing(self, folder: Path, actions: Sequence[Action]) -> tuple[Action, ...]:
        """The actions that were not accepted for ``folder``."""
        real = os.path.realpath(folder)
        known = {grant.action.identity() for grant in self.grants() if grant.folder == real}
        return tuple(action for action in actions if action.identity() not in known)

    def grant(self, folder: Path, actions: Sequence[Action]) -> None:
        """Record that the person accepted ``actions`` for ``folder``; raises ConsentError when that is impossible."""
        real = os.path.realpath(folder)
        if Path(os.path.realpath(self.path)).is_relative_to(real):
            raise ConsentError(
                "consents would be recorded inside the folder they are about",
                where=self.path,
                remedy=f"set {ENVIRONMENT} to a folder outside of {real}",
            )
        now = datetime.now(UTC).replace(microsecond=0)
        with self._turn():
            added = tuple(Grant(folder=real, action=action, accepted=now) for action in self.missing(folder, actions))
            self._write((*self.grants(), *added))

    def revoke(self, chosen: str | None = None) -> tuple[Grant, ...]:
        """Take back the grant with this id, those of this folder, or (None) all; returns what was taken back."""
        if chosen is not None and not self._chosen(chosen):
            return ()
        with self._turn():
            if chosen is None:
                try:
                    gone = self.grants()
                except ConsentError:
                    gone = ()
                self._write(())
            else:
                gone = self._chosen(chosen)
                self._write(tuple(grant for grant in self.grants() if grant not in gone))
        return gone

    def _chosen(self, chosen: str) -> tuple[Grant, ...]:
        real = os.path.realpath(chosen)
        return tuple(grant for grant in self.grants() if chosen == grant.id or real == grant.folder)

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Be the only one who changes the record; raises ConsentError where that cannot be had."""
        with ExitStack() as stack:
            try:
                stack.enter_context(turn(self.path.with_suffix(".turn")))
            except TimeoutError:
                raise ConsentError(
                    "another process is changing this, and does not go on",
                    where=self.path,
                    remedy="end it if it was stopped, then try again",
                ) from None
            except OSError as error:
                if error.errno != errno.ENOSPC:  # with no room for the lock nobody else can record anything either
                    raise _unwritable(self.path, error) from None
            yield

    def _write(self, grants: tuple[Grant, ...]) -> None:
        try:
            if not grants:  # what was accepted can be taken back on a full disk, too
                self.path.unlink(missing_ok=True)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self.path, _GRANTS.dump_json(grants, indent=1))
            self.path.chmod(0o600)
        except OSError as error:
            raise _unwritable(self.path, error) from None


def _unwritable(path: Path, error: OSError) -> ConsentError:
    remedy = f"set {ENVIRONMENT} to another folder"
    if error.errno == errno.ENOSPC:
        remedy = "make room; optimas consent revoke --all needs none"
    return ConsentError(f"cannot be written: {error.strerror}", where=path, remedy=remedy)


def require(consents: Consents, folder: Path, actions: Sequence[Action], ask: Ask | None) -> None:
    """Return when every action was accepted for ``folder``, before or now by ``ask``, which is then recorded.

    ``ask`` None: nobody can be asked. Raises ConsentError that says what would have happened.
    """
    missing = consents.missing(folder, actions)
    if not missing:
        return
    if ask is not None and ask(folder, missing):
        consents.grant(folder, missing)
        return
    said = "; ".join(line.strip() for action in missing for line in action.sentence().split("\n")).replace(":; ", ": ")
    if ask is None:
        raise ConsentError(
            f"this was never accepted, and nobody can be asked here: {said}",
            where=folder,
            remedy="run it on a terminal, or with --accept once you agree; optimas consent list shows what is accepted",
        )
    raise ConsentError(
        f"this was not accepted, so nothing was sent or run: {said}",
        where=folder,
        remedy="answer y once you agree, or give --accept",
    )
