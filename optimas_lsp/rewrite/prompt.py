"""The prompt for one hot kernel: its source with the evidence on its lines, what is known, what is allowed.

Deterministic for the same input. Everything that others wrote (source, names, figures of the report, past cases) stands
as data between lines that it cannot forge; what stands outside of them does not depend on it. When the prompt is over
its budget of tokens, the least valuable evidence goes first, then past cases, then what is shown for reading only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from optimas_lsp.errors import OptimasError, SourceError
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.insight.ranking import Ranked, rank
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.budget import fit, tokens_of
from optimas_lsp.rewrite.guard.model import Allowance
from optimas_lsp.rewrite.prompt_data import phrase
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_reach import reach
from optimas_lsp.rewrite.prompt_rules import system_text
from optimas_lsp.rewrite.prompt_writer import PastCase, Subject, Writer
from optimas_lsp.rewrite.subsets import EVERYTHING, Subset
from optimas_lsp.source.functions import Function

__all__ = ["EvidenceMissingError", "PastCase", "Prompt", "Subject", "build_prompt", "changeable"]

SCHEMA: Literal["optimas.prompt/1"] = "optimas.prompt/1"

PROMPT_TOKENS = 24_000
"""The budget where none is given."""


class EvidenceMissingError(OptimasError):
    """The report has no evidence of the kind chosen for the kernel."""


class Prompt(Frozen):
    """``optimas.prompt/1``: what a backend is asked. ``system`` is the same for every kernel of a language.

    ``functions`` may be changed, ``evidence`` may be cited; ``dropped`` says in words what did not fit, ``notes`` what
    the reader should know about the evidence's lines.
    """

    schema_: Literal["optimas.prompt/1"] = Field(default=SCHEMA, alias="schema")
    kernel: str = Field(description="mangled name")
    source: str = Field(description="the file as the prompt names it")
    subset: str
    functions: tuple[str, ...]
    evidence: tuple[str, ...]
    system: str
    user: str
    tokens: int = Field(description="upper estimate for both texts")
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = Field(default=(), description="other files with evidence worth acting on")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    @property
    def text(self) -> str:
        """Both parts, for a person or a model without a system role."""
        return f"{self.system}\n{self.user}"


def build_prompt(
    subject: Subject,
    *,
    subset: Subset = EVERYTHING,
    max_tokens: int = PROMPT_TOKENS,
    cases: Sequence[PastCase] = (),
    allow: Collection[Allowance] = (),
) -> Prompt:
    """The prompt for ``subject``; ``cases`` come most alike first, ``allow`` is what the guardrails will let pass.

    Raises SourceError when the kernel is not defined in the file, EvidenceMissingError when the subset is empty, and
    BudgetError when the kernel with its best evidence takes more than ``max_tokens``.
    """
    marks = Marks(subject.profile, subject.files)
    shown = reach(subject.home, _definition(subject, marks), subject.kernel, marks, source=subject.source)
    writer = Writer(subject, shown, marks, subset, _evidence(subject.kernel, subset), tuple(cases), frozenset(allow))
    system = system_text(subject.source.syntax.language, allow)
    fitted = fit(writer.droppable(), writer.render, max_tokens, fixed=tokens_of(system))
    left = writer.kept(fitted.dropped)
    return Prompt(
        kernel=subject.kernel.mangled,
        source=subject.source.name,
        subset=subset.name,
        functions=tuple(each.shown_name for each in shown.changeable),
        evidence=tuple(name for each in left for name in (each.evidence.id, *each.merged)),
        system=system,
        user=fitted.text,
        tokens=tokens_of(system) + fitted.tokens,
        dropped=tuple(each.words for each in fitted.dropped),
        notes=tuple(writer.notes()),
        elsewhere=tuple(dict.fromkeys(writer.elsewhere(left))),
    )


def changeable(subject: Subject) -> tuple[Function, ...]:
    """The functions that a rewrite of ``subject`` may change; raises SourceError when the kernel is not defined."""
    marks = Marks(subject.profile, subject.files)
    shown = reach(subject.home, _definition(subject, marks), subject.kernel, marks, source=subject.source)
    return shown.changeable


def _definition(subject: Subject, marks: Marks) -> Function:
    kernel = subject.kernel
    outermost = [line.inlined_at[-1] if line.inlined_at else line.location for line in kernel.lines]
    here = [marks.today(place) for place in outermost]
    hints = tuple(each.line for each in here if each is not None and each.unit is subject.home and each.line)
    found = subject.home.syntax.kernel(kernel.name, kernel.mangled, hints)
    if found is None:
        names = ", ".join(each.shown_name for each in subject.home.syntax.kernels) or "none"
        raise SourceError(
            f"the profiled kernel {phrase(kernel.name)} is not defined here, or several definitions fit",
            where=subject.home.path,
            remedy=f"give the file that defines it; this one's kernels are: {names}",
        )
    return found


def _evidence(kernel: KernelAnalysis, subset: Subset) -> tuple[Ranked, ...]:
    [(_, ranked)] = rank([kernel.model_copy(update={"evidence": subset.of(kernel.evidence)})])
    if ranked:
        return ranked
    why = kernel.importance.why_not if subset.name == "ia" and kernel.importance is not None else None
    raise EvidenceMissingError(
        f"there is no evidence of the kind {subset.name} for kernel {phrase(kernel.base_name)}"
        + (f": {why}" if why else ""),
        remedy="choose other evidence with --evidence, or profile again with the sections it needs (optimas profile)",
    )
