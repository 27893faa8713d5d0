"""What the guardrails take and give: allowances, limits, findings and the verdict (schema ``optimas.verdict/1``)."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import ConfigDict, Field

from optimas_lsp.config import AllowanceName as Allowance
from optimas_lsp.config import Guard
from optimas_lsp.profile.model import Frozen

__all__ = ["ALLOWANCES", "Allowance", "Limits", "OffendingLine", "RuleVerdict", "Status", "Verdict"]

SCHEMA: Literal["optimas.verdict/1"] = "optimas.verdict/1"

Status = Literal["pass", "fail", "flag", "skipped"]
"""``flag``: no reason to refuse, but the proof has to look at it."""

ALLOWANCES: tuple[Allowance, ...] = get_args(Allowance)
"""What a user may permit: new device functions, new kernels, new constants at namespace scope, ``__launch_bounds__``
added or changed, approximate intrinsics, ``volatile``, ``asm``."""


class Limits(Frozen):
    """How large a rewrite may be. A function may always have ``lines`` lines, or ``growth`` times its old ones."""

    lines: int = 250
    growth: int = 8
    characters: int = 60_000
    functions: int = 8

    @classmethod
    def of(cls, settings: Guard) -> Limits:
        """The limits in the user's settings."""
        return cls(
            lines=settings.lines,
            growth=settings.growth,
            characters=settings.characters,
            functions=settings.functions,
        )


class OffendingLine(Frozen):
    """A line of the proposal: 1-based in the function's new text; 0 stands for the function as a whole.

    ``file_line`` is the line of the file, as changed, on which it comes to stand; None: not known.
    """

    function: str
    line: int
    text: str = ""
    file_line: int | None = None


class RuleVerdict(Frozen):
    """One rule and what it found; ``message`` is empty when it passed."""

    id: str
    status: Status
    message: str = ""
    lines: tuple[OffendingLine, ...] = ()


class Verdict(Frozen):
    """``optimas.verdict/1``: whether a proposal deserves to be built, and every rule that was checked.

    ``flags`` names the rules the proof has to look at.
    """

    schema_: Literal["optimas.verdict/1"] = Field(default=SCHEMA, alias="schema")
    accepted: bool
    rules: tuple[RuleVerdict, ...]
    flags: tuple[str, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    def failures(self) -> tuple[RuleVerdict, ...]:
        """The rules that refuse the proposal."""
        return tuple(rule for rule in self.rules if rule.status == "fail")

    def rule(self, name: str) -> RuleVerdict:
        """The outcome of the rule with this id; raises KeyError for an unknown one."""
        for rule in self.rules:
            if rule.id == name:
                return rule
        raise KeyError(name)
