"""The profiler's own rule results, as plain text without its link marks."""

from __future__ import annotations

import re
from typing import Any, Literal, Protocol

from optimas_lsp.profile.model import RuleResult

_LINK = re.compile(
    r"@section:[^:@]*:(?P<section>[^@]*)@"
    r"|@url:(?P<url>[^:@]*):[^@]*@"
    r"|@sass:[^:@]*:(?P<sass>[^@]*)@"
    r"|@source:[^@]*:\d+:(?P<source>[^:@]*)@"
)
_SEVERITY: dict[str, Literal["ok", "info", "optimization", "warning", "error"]] = {
    "NONE": "info",
    "OK": "ok",
    "OPTIMIZATION": "optimization",
    "WARNING": "warning",
    "ERROR": "error",
}
_SPEEDUP: dict[str, Literal["local", "global"]] = {"LOCAL": "local", "GLOBAL": "global"}


class Verdict(Protocol):
    """One rule result of the native reader."""

    def rule_identifier(self) -> str:
        """Name of the rule's file, stable between versions."""
        ...

    def section_identifier(self) -> str:
        """Section of the report the rule belongs to."""
        ...

    def has_rule_message(self) -> bool:
        """Whether the rule said anything."""
        ...

    def rule_message(self) -> dict[str, Any]:
        """``title``, ``message`` and ``type``."""
        ...

    def focus_metrics(self) -> list[dict[str, Any]]:
        """Counters the rule looked at, each with its ``name``."""
        ...

    def has_speedup_estimation(self) -> bool:
        """Whether the rule estimates what following it buys."""
        ...

    def speedup_estimation(self) -> dict[str, Any]:
        """``type`` and ``speedup`` in percent."""
        ...


def plain(text: str) -> str:
    """``text`` with each link mark (``@section:ID:WORDS@``, ``@url:WORDS:ADDRESS@``, …) replaced by its words."""
    return _LINK.sub(lambda found: next((words for words in found.groups() if words is not None), ""), text)


def rule_result(verdict: Verdict, severities: dict[int, str], speedups: dict[int, str]) -> RuleResult | None:
    """One rule's verdict, None when it said nothing; the tables name the reader's message and speed-up types."""
    if not verdict.has_rule_message():
        return None
    said = verdict.rule_message()
    title, message = plain(said["title"] or ""), plain(said["message"] or "")
    if not title and not message:
        return None
    estimate = verdict.speedup_estimation() if verdict.has_speedup_estimation() else None
    kind = _SPEEDUP.get(speedups.get(int(estimate["type"]), "")) if estimate else None
    return RuleResult(
        identifier=verdict.rule_identifier(),
        section=verdict.section_identifier(),
        title=title,
        message=message,
        severity=_SEVERITY.get(severities.get(int(said["type"]), ""), "info"),
        speedup_type=kind,
        speedup_percent=float(estimate["speedup"]) if estimate else None,
        focus_metrics=tuple(str(item["name"]) for item in verdict.focus_metrics()),
    )
