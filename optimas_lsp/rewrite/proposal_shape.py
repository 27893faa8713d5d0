"""Small departures from the proposal's shape that models make and that leave no doubt: undone before validation.

Unknown keys are dropped: they hold nothing that is used. Whatever else is wrong stays wrong, for the schema to refuse.
"""

from __future__ import annotations

import re
from typing import Any, cast

from optimas_lsp.rewrite.proposal import Change, FunctionText, Idea, Proposal

_FENCED = re.compile(r"\A\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)
_RANGE = re.compile(r"\A\D*(\d+)(?:\s*(?:-|–|to|,|\.\.)\s*\D*(\d+))?\D*\Z")
_DOWN = frozenset({"down", "decrease", "decreases", "lower", "reduce", "reduced", "less", "fewer", "shorter", "-", "↓"})
_UP = frozenset({"up", "increase", "increases", "higher", "raise", "raised", "more", "+", "↑"})


def shaped(answer: dict[str, Any]) -> dict[str, Any]:
    """``answer`` in the proposal's shape as far as that is beyond doubt; a copy."""
    found = _known(answer, {*Proposal.model_fields, "schema"} - {"schema_"})
    found["functions"] = [_function(each) for each in _listed(found.get("functions"))]
    if "changes" in found:
        found["changes"] = [_change(each) for each in _listed(found["changes"])]
    if "not_applied" in found:
        found["not_applied"] = [_idea(each) for each in _listed(found["not_applied"])]
    return found


def unfenced(text: str) -> str:
    """``text`` without the one code fence that is all around it."""
    match = _FENCED.match(text)
    return match.group(2) if match else text


def _known(value: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name in names}


def _listed(value: object) -> list[Any]:
    if value is None:
        return []
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _function(value: object) -> object:
    if not isinstance(value, dict):
        return value
    found = _known(cast("dict[str, Any]", value), set(FunctionText.model_fields))
    text = found.get("text")
    if isinstance(text, list) and all(isinstance(line, str) for line in cast("list[object]", text)):
        text = "\n".join(cast("list[str]", text))
    if isinstance(text, str):
        found["text"] = unfenced(text)
    return found


def _change(value: object) -> object:
    if not isinstance(value, dict):
        return value
    found = _known(cast("dict[str, Any]", value), set(Change.model_fields))
    if "original_lines" in found:
        found["original_lines"] = _lines(found["original_lines"])
    if "evidence" in found:
        found["evidence"] = _citations(found["evidence"])
    if "expects" in found:
        found["expects"] = [_expectation(each) for each in _listed(found["expects"])]
    return found


def _idea(value: object) -> object:
    if not isinstance(value, dict):
        return value
    found = _known(cast("dict[str, Any]", value), set(Idea.model_fields))
    if "evidence" in found:
        found["evidence"] = _citations(found["evidence"])
    return found


def _lines(value: object) -> object:
    """Two line numbers in order, from one number, a pair, a longer list of them or a range in words."""
    if isinstance(value, str):
        match = _RANGE.match(value)
        return _lines([int(part) for part in match.groups() if part]) if match else value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return (value, value)
    numbers: list[Any] = [str(each) if isinstance(each, bool) else each for each in _listed(value)]
    if numbers and all(isinstance(each, int) for each in numbers):
        return (min(numbers), max(numbers))
    return numbers


def _citations(value: object) -> object:
    """Ids without brackets around them, one an item."""
    parts: list[Any] = []
    for each in _listed(value):
        parts += re.split(r"[,;\s]+", each.strip()) if isinstance(each, str) else [each]
    return [part.strip("[]()`'\".") if isinstance(part, str) else part for part in parts if part != ""]


def _expectation(value: object) -> object:
    if not isinstance(value, dict):
        return value
    found = _known(cast("dict[str, Any]", value), {"metric", "direction"})
    word = found.get("direction")
    if isinstance(word, str):
        plain = word.strip().lower()
        found["direction"] = "down" if plain in _DOWN else "up" if plain in _UP else word
    return found
