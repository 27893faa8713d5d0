"""The matter the guardrails judge: a proposal, the text it is about, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from optimas_lsp.rewrite.guard.model import Allowance, Limits
from optimas_lsp.rewrite.guard.placing import Placing
from optimas_lsp.rewrite.guard.segments import Segment
from optimas_lsp.rewrite.guard.side import Side
from optimas_lsp.rewrite.guard.surroundings import Surroundings, surroundings_of
from optimas_lsp.rewrite.heading import Heading, heading_in, heading_of
from optimas_lsp.rewrite.locate import LocationError, locate, path_of
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax

__all__ = ["Case", "Finding", "Matter", "Rewrite", "Rule", "Skip", "case_of"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule holds against one line (1-based in the new text, 0: the whole function) of one function."""

    function: str
    line: int
    message: str
    status: Literal["fail", "flag"] | None = None
    """None: what the rule is for."""


@dataclass(frozen=True, slots=True)
class Skip:
    """A rule that could not look, and why."""

    why: str


@dataclass(frozen=True, eq=False)
class Rewrite:
    """One function before and after. ``after`` is the whole new text, which should be that one function."""

    name: str
    function: Function
    heading: Heading
    before: Side
    after: Side
    extern_c: bool = False
    """Whether the file says ``extern "C"`` before the definition, which is not part of the definition's own text."""

    @cached_property
    def main(self) -> Segment | None:
        """The segment of the new text that is the function's definition; None if there is none."""
        wanted = self.function.name.replace(" ", "")
        functions = [each for each in self.after.segments if each.kind == "function"]
        same = [each for each in functions if each.name == wanted] or functions[:1] * (len(functions) == 1)
        return same[-1] if same else None

    @cached_property
    def new_heading(self) -> Heading | None:
        """The heading of ``main``."""
        return None if self.main is None else heading_of(self.after.text[self.main.start : self.main.end])

    @cached_property
    def new_words(self) -> frozenset[str]:
        """Words of the new text that the old one does not have."""
        return self.after.words - self.before.words

    def found(self, line: int, message: str, status: Literal["fail", "flag"] | None = None) -> Finding:
        """A finding on a line of the new text."""
        return Finding(self.name, line, message, status)


@dataclass(frozen=True, eq=False)
class Case:
    """Everything a rule may look at.

    ``missing`` holds the functions that could not be located, with the reason. ``allowed`` are the functions that may
    change, None: every kernel and device function. ``evidence`` are the ids that exist, None: not known.
    """

    syntax: Syntax
    proposal: Proposal
    rewrites: tuple[Rewrite, ...]
    missing: tuple[tuple[str, LocationError], ...]
    allowed: frozenset[Function] | None
    evidence: frozenset[str] | None
    allow: frozenset[Allowance]
    limits: Limits
    around: Surroundings


@dataclass(frozen=True, slots=True)
class Rule:
    """One guardrail: its id, what it demands in one sentence, and whether a finding refuses or only flags.

    ``check`` looks at the whole case and yields findings; it returns Skip where it cannot look.
    """

    id: str
    demand: str
    status: Literal["fail", "flag"]
    check: Callable[[Case], Iterable[Finding] | Skip]


_EXTERN_C = re.compile(rb'\bextern\s+"C"\s*(?:\Z|\{)')

Matter = Callable[[Rewrite, Case], Iterable[Finding]]


def each(look: Matter) -> Callable[[Case], Iterator[Finding]]:
    """A check of the whole case from one that looks at one rewritten function."""

    def check(case: Case) -> Iterator[Finding]:
        for rewrite in case.rewrites:
            yield from look(rewrite, case)

    return check


def case_of(
    syntax: Syntax,
    proposal: Proposal,
    *,
    allowed: Collection[str] | None,
    evidence: Collection[str] | None,
    allow: Collection[Allowance],
    limits: Limits,
    headers: Sequence[str],
) -> Case:
    """Locate each function of the proposal in the text and gather what surrounds it."""
    rewrites: list[Rewrite] = []
    missing: list[tuple[str, LocationError]] = []
    placing = Placing(syntax, proposal)
    for item in proposal.functions:
        try:
            function = locate(syntax, item.function, item.text)
        except LocationError as error:
            missing.append((item.function, error))
            continue
        data = syntax.code.data[function.extent.start : function.extent.end]
        before = Side(_plain(data.decode("utf-8", "replace")))
        heading = heading_in(syntax, function)
        outside = _EXTERN_C.search(syntax.code.data, 0, function.extent.start) is not None
        text = _plain(item.text)
        after = Side(text, partial(placing.lines, function, text))
        rewrites.append(Rewrite(item.function, function, heading, before, after, extern_c=outside))
    may_change = None if allowed is None else frozenset(_named(syntax, allowed))
    return Case(
        syntax=syntax,
        proposal=proposal,
        rewrites=tuple(rewrites),
        missing=tuple(missing),
        allowed=may_change,
        evidence=None if evidence is None else frozenset(evidence),
        allow=frozenset(allow),
        limits=limits,
        around=surroundings_of(syntax, headers),
    )


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _named(syntax: Syntax, names: Iterable[str]) -> Iterator[Function]:
    """Every function that one of the names may mean: by whole path, else by its end."""
    for name in names:
        path = path_of(name)
        known = [(function, tuple(part for part in function.qualified if part)) for function in syntax.functions]
        whole = [function for function, qualified in known if qualified == path]
        yield from whole or [function for function, qualified in known if path and qualified[-len(path) :] == path]
