"""What a backend answers: new text for named functions, with citations and expectations.

One schema for every backend, published by ``optimas schema proposal``. A proposal is data, never code to trust:
``guardrails`` looks at it before anything is compiled.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from optimas_lsp.insight.evidence import Expectation
from optimas_lsp.profile.model import Frozen

SCHEMA: Literal["optimas.proposal/1"] = "optimas.proposal/1"


class FunctionText(Frozen):
    """New text for one existing function: its whole definition, from template or attribute to closing brace.

    ``function`` is the name as the source writes it, qualified when it lies in a namespace (``model::advance``).
    """

    function: str
    text: str


class Change(Frozen):
    """One optimisation in the new text, tied to what the profile said."""

    function: str
    original_lines: tuple[int, int] = Field(description="first and last line replaced, 1-based, in the original file")
    evidence: tuple[str, ...] = Field(description="ids of the evidence this change answers, e.g. PC-1, BL-2")
    transformation: str = Field(description="short name, e.g. 'unroll', 'vectorised-load'")
    reason: str
    expects: tuple[Expectation, ...] = ()


class Idea(Frozen):
    """Something considered and not applied, with the reason."""

    transformation: str
    reason: str
    evidence: tuple[str, ...] = ()


class Proposal(Frozen):
    """The whole answer. ``functions`` empty means: nothing worth changing, see ``not_applied``."""

    schema_: Literal["optimas.proposal/1"] = Field(default=SCHEMA, alias="schema")
    functions: tuple[FunctionText, ...]
    changes: tuple[Change, ...] = ()
    not_applied: tuple[Idea, ...] = ()
    bit_exact: bool = Field(
        default=True, description="False when the author expects results to differ in the last bits"
    )

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)
