"""The failures a user can meet: each message is the sentence they read, with the place and the remedy."""

from __future__ import annotations

from pathlib import Path


class OptimasError(Exception):
    """A failure with a sentence for the user.

    ``what`` says what went wrong, ``where`` the file (and ``line``, 1-based) it is about, ``remedy`` what to do next.
    ``str(error)`` is one line: ``WHERE:LINE: WHAT; REMEDY``.
    """

    def __init__(
        self, what: str, *, where: Path | str | None = None, line: int | None = None, remedy: str = ""
    ) -> None:
        self.what = what
        self.where = str(where) if where is not None else None
        self.line = line
        self.remedy = remedy
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """The whole sentence, fit for a message box and for standard error."""
        place = "" if self.where is None else self.where + (f":{self.line}" if self.line else "") + ": "
        ending = f"; {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{ending}".encode("utf-8", "replace").decode("utf-8")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep every field when a worker process sends the error back."""
        return (_rebuild, (type(self), self.what, self.where, self.line, self.remedy))


def _rebuild(kind: type[OptimasError], what: str, where: str | None, line: int | None, remedy: str) -> OptimasError:
    return kind(what, where=where, line=line, remedy=remedy)


class ReportError(OptimasError):
    """A profile report cannot be read: empty, truncated, foreign, too new, or its reader is missing."""


class ConfigError(OptimasError):
    """A setting or ``optimas.toml`` is wrong: unknown key, wrong type, impossible value."""


class SourceError(OptimasError):
    """A source file cannot be found, mapped or read."""


class WorkerError(OptimasError):
    """A worker process died or ran past its limits; whoever asked lives on."""
