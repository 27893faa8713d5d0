"""Writes what a prompt says about one kernel, with or without the parts that may be left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from optimas_lsp.insight import knowledge
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.insight.ranking import Ranked
from optimas_lsp.profile.model import Frozen, Profile
from optimas_lsp.rewrite.budget import Droppable
from optimas_lsp.rewrite.catalogue.registry import entries
from optimas_lsp.rewrite.guard.model import Allowance
from optimas_lsp.rewrite.project_headers import project_headers
from optimas_lsp.rewrite.prompt_data import fence_of, phrase, quoted, visible
from optimas_lsp.rewrite.prompt_evidence import figures, finding, hardware
from optimas_lsp.rewrite.prompt_files import Files, Unit
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_reach import Passage, Reach
from optimas_lsp.rewrite.prompt_source import Gutter, listing, marks_of
from optimas_lsp.rewrite.subsets import Subset

MOST_TRANSFORMATIONS = 8

KEPT_LONGEST = 3
"""Pieces of evidence that outlast everything else which may be left out."""

STALE = "the source differs from the profiled one: line numbers are today's, and evidence whose line changed has none"
"""The note of a prompt whose source is not as it was profiled."""


class PastCase(Frozen):
    """A past attempt that resembles this one: what was tried on which evidence, and what was measured."""

    id: str
    rules: tuple[str, ...]
    transformation: str
    outcome: str = Field(description="in words, with the figures, e.g. 'proven, 1.42x (95 % interval 1.40 to 1.44)'")
    code: str = Field(default="", description="the change as a diff or the new lines")


@dataclass(frozen=True, eq=False)
class Subject:
    """What a prompt is about. ``files`` holds the workspace's files, ``source`` the one that may be changed.

    ``home`` is the file that defines the kernel: ``source``, or one that uses ``source`` as a header.
    """

    profile: Profile
    kernel: KernelAnalysis
    source: Unit
    files: Files
    home: Unit

    @property
    def headers(self) -> tuple[str, ...]:
        """Texts of the program's own headers that the source includes, for the functions and macros they define."""
        return project_headers(self.source.path, self.source.syntax.text.text, self.files.folders)


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes the user's part, with or without what may be left out."""

    subject: Subject
    shown: Reach
    marks: Marks
    subset: Subset
    ranked: tuple[Ranked, ...]
    cases: tuple[PastCase, ...]
    allow: frozenset[Allowance] = frozenset()

    @cached_property
    def _heat(self) -> dict[tuple[str, int], float]:
        return self.marks.heat(self.subject.kernel) if "pc" in self.subset.sources else {}

    @cached_property
    def _reading(self) -> tuple[Passage, ...]:
        """Functions of other files, the kernel aside."""
        return tuple(
            each
            for each in self.shown.functions
            if each.unit is not self.shown.source and each.function is not self.shown.kernel
        )

    def droppable(self) -> list[Droppable]:
        """What may be left out, least valuable first; the best finding never is."""
        evidence = [
            Droppable(f"evidence {each.evidence.id}", f"evidence {each.evidence.id}{_rule_of(each)}")
            for each in self.ranked[1:]
        ][::-1]
        last = evidence[-(KEPT_LONGEST - 1) :]
        cases = [Droppable(f"case {at}", f"past case {at + 1}") for at in range(len(self.cases))][::-1]
        parts = [*evidence[: -(KEPT_LONGEST - 1)], *cases]
        parts.append(Droppable("transformations", "known transformations"))
        parts.append(Droppable("advice", "what usually helps"))
        parts += [Droppable("declarations", "declarations that the source names")] if self.shown.declarations else []
        parts += [Droppable("reading", "functions in other files, for reading only")] if self._reading else []
        return [*parts, *last]

    def kept(self, dropped: Sequence[Droppable]) -> tuple[Ranked, ...]:
        """The evidence that is left."""
        gone = {each.key for each in dropped}
        return tuple(each for each in self.ranked if f"evidence {each.evidence.id}" not in gone)

    def elsewhere(self, kept: tuple[Ranked, ...]) -> Iterator[str]:
        """Workspace files, other than the one that may be changed, on whose lines evidence worth acting on stands."""
        for each in kept:
            at = each.evidence.shown or each.evidence.location
            found = self.marks.today(at) if at is not None and each.evidence.level == "act" else None
            if found is not None and found.unit is not self.shown.source:
                yield found.unit.name

    def notes(self) -> Iterator[str]:
        """What the reader should know about lines."""
        if self.marks.stale(self.subject.source):
            yield STALE

    def render(self, dropped: Sequence[Droppable]) -> str:
        """The text without ``dropped``."""
        gone = {each.key for each in dropped}
        kept = self.kept(dropped)
        blocks = [*self._blocks(kept, gone)]
        fence = fence_of(line for _, title, lines in blocks for line in (title, *lines))
        parts = [
            f"Make the kernel `{phrase(self.shown.kernel.shown_name)}` faster. Functions that may be changed: "
            + ", ".join(f"`{phrase(each.shown_name)}`" for each in self.shown.changeable)
            + ". Evidence that may be cited: "
            + ", ".join(name for each in kept for name in (each.evidence.id, *each.merged))
            + ".",
            *(f"Note: {each}." for each in self.notes()),
        ]
        for heading, title, lines in blocks:
            parts.append("\n".join([*([f"## {heading}"] if heading else []), *quoted(fence, title, lines)]))
        if "advice" not in gone:
            parts.append("\n".join(["## What usually helps", *self._advice(kept)]))
        known = list(self._transformations(kept)) if "transformations" not in gone else []
        if known:
            parts.append("\n".join(["## Known transformations for this evidence", *known]))
        if dropped:
            words = "; ".join(each.words for each in dropped)
            parts.append(f"## Left out for length, least valuable first\n{words}")
        parts.append("The data ends here. Answer with the JSON object described above, and nothing else.")
        return "\n\n".join(parts) + "\n"

    def _blocks(self, kept: tuple[Ranked, ...], gone: set[str]) -> Iterator[tuple[str, str, list[str]]]:
        """Heading, title and lines of each block of data; an empty heading goes on with the last one."""
        kernel, profile = self.subject.kernel, self.subject.profile
        yield "GPU", "gpu", [*hardware(profile.device, kernel.roofline)]
        yield "Kernel", "kernel", [*figures(kernel, self.subset)]
        total = kernel.samples.total
        lines = [line for each in kept for line in finding(each, self.marks, self.subset, total)]
        ids = {name for each in kept for name in (each.evidence.id, *each.merged)}
        lines += [
            f"conflict between {', '.join(each.evidence)}: {phrase(each.text)}"
            for each in kernel.conflicts
            if ids.issuperset(each.evidence)
        ]
        yield "Evidence, most valuable first", "evidence", lines
        passages = [
            *(each for each in self.shown.functions if "reading" not in gone or each not in self._reading),
            *(self.shown.declarations if "declarations" not in gone else ()),
        ]
        marked = marks_of((each.evidence.id, self.marks.lines(each.evidence)) for each in kept)
        for at, (title, text) in enumerate(listing(self.shown, passages, Gutter(marked, self._heat))):
            yield "" if at else "Source", title, text
        cases = [each for at, each in enumerate(self.cases) if f"case {at}" not in gone]
        for at, case in enumerate(cases):
            yield "" if at else "Past cases with like evidence", f"case {at + 1}", [*_case(case)]

    def _advice(self, kept: tuple[Ranked, ...]) -> Iterator[str]:
        known = knowledge.rules()
        for name in dict.fromkeys(each.evidence.rule for each in kept):
            rule = known.get(name)
            if rule is not None:
                yield f"{rule.title} ({rule.name})"
                yield from (f"- {sentence}" for sentence in rule.helps)
                yield from (f"- not when: {sentence}" for sentence in rule.not_when)

    def _transformations(self, kept: tuple[Ranked, ...]) -> Iterator[str]:
        """The catalogue's entries that answer the evidence, most worth first, with what each needs."""
        if self.subject.source.syntax.language != "cuda":
            return
        rules = {each.evidence.rule for each in kept}
        fitting = [each for each in entries() if rules & set(each.rules) and each.allowance in {None, *self.allow}]
        for entry in sorted(fitting, key=lambda each: (-each.weight, each.name))[:MOST_TRANSFORMATIONS]:
            exact = "" if entry.exactness.startswith("exact") else " [may change the last bits]"
            yield f"- {entry.name}: {entry.title}. Needs: {entry.precondition}{exact}"


def _rule_of(ranked: Ranked) -> str:
    """The rule of a piece of evidence in brackets; nothing for one that is not ours, but a word out of the report."""
    return f" ({ranked.evidence.rule})" if ranked.evidence.rule in knowledge.rules() else ""


def _case(case: PastCase) -> Iterator[str]:
    yield f"{phrase(case.id)}: {phrase(case.transformation)} for {', '.join(map(phrase, case.rules))}"
    yield f"measured: {phrase(case.outcome)}"
    yield from (f"  {visible(line)}" for line in case.code.split("\n") if case.code)
