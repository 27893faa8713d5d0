"""Every static rule, in the order in which they are shown."""

from __future__ import annotations

from optimas_lsp.rewrite.guard.case import Rule
from optimas_lsp.rewrite.guard.rules import (
    barriers,
    calls,
    citations,
    constructs,
    control,
    effects,
    inputs,
    placeholders,
    precision,
    preprocessor,
    sameness,
    scope,
    signature,
    size,
    structure,
    text,
    triton,
)

RULES: tuple[Rule, ...] = (
    *sameness.RULES,
    *scope.RULES,
    *size.RULES,
    *text.RULES,
    *structure.RULES,
    *signature.RULES,
    *preprocessor.RULES,
    *constructs.RULES,
    *calls.RULES,
    *precision.RULES,
    *barriers.RULES,
    *control.RULES,
    *effects.RULES,
    *inputs.RULES,
    *placeholders.RULES,
    *citations.RULES,
)
"""Ids are unique; a rule either refuses (fail) or sends to the proof (flag)."""

TRITON_RULES = triton.RULES
"""Those for Triton kernels; a rule that demands the same has the same id."""

SIZE_RULES = frozenset({"oversize", "too-deep", "too-many"})
"""Where one of these refuses, rules that walk the text are not run: they are linear, but not free."""
