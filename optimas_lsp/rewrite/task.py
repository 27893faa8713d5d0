"""What one rewrite is about and what it may use: the subject, the file, a builder, a prover, somebody to notify."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.compile import Compiled
from optimas_lsp.rewrite.guard.model import Allowance, Limits, RuleVerdict, Verdict
from optimas_lsp.rewrite.outcome import Proof, Stage
from optimas_lsp.rewrite.prompt import Prompt
from optimas_lsp.rewrite.prompt_writer import Subject


class UnsupportedSourceError(OptimasError):
    """The guardrails cannot judge this kind of source, so nothing may be proposed for it."""


class Builder(Protocol):
    """Builds a candidate in a scratch copy. ``build`` blocks; ``cancel``, from another thread, makes it end soon."""

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What is run, in order."""
        ...

    def build(self, files: Mapping[str, bytes]) -> Compiled:
        """Relative path to new bytes; the outcome."""
        ...

    def compare(self, files: Mapping[str, bytes]) -> tuple[RuleVerdict, ...]:
        """The rules for after compiling, on the machine code of the original and the candidate; blocks, too."""
        ...

    def cancel(self) -> None:
        """End what runs."""
        ...


Prove = Callable[[Candidate, Verdict], Awaitable[Proof]]
Notify = Callable[[Stage, str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be rewritten: the subject, its prompt, the file's bytes, and what the user permits.

    ``name`` is the file's path relative to the program's folder, ``attempts`` how many answers are asked for at most.
    ``search``: each answer is another candidate, so that after a refuted one the next is tried. ``samples``: how often
    a model is asked from the start, each time with as many attempts.
    """

    subject: Subject
    prompt: Prompt
    data: bytes
    name: str
    backend: str
    attempts: int = 3
    allow: tuple[Allowance, ...] = ()
    limits: Limits | None = None
    search: bool = False
    samples: int = 1

    @classmethod
    def of(
        cls,
        subject: Subject,
        prompt: Prompt,
        *,
        backend: str,
        attempts: int = 3,
        allow: tuple[Allowance, ...] = (),
        limits: Limits | None = None,
        search: bool = False,
        samples: int = 1,
        data: bytes | None = None,
    ) -> Task:
        """``data`` None: the file is read. Raises UnsupportedSourceError, or EditError for undecodable bytes."""
        unit = subject.source
        if unit.syntax.language != "cuda":
            raise UnsupportedSourceError(
                "the guardrails read CUDA sources only",
                where=unit.path,
                remedy="optimas prompt prints what a model would be asked; have a person judge its answer",
            )
        found = unit.path.read_bytes() if data is None else data
        return cls(subject, prompt, found, unit.name, backend, attempts, allow, limits, search, samples)
