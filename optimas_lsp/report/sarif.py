"""SARIF 2.1.0: findings as a code host or an editor's SARIF viewer reads them.

One run a report. A result is at the line to look at, its related locations are the causes, the lines that wait and the
call sites a library line was inlined through; its rank (0 to 100) is the share of the program's time that acting on it
could save at most. Every rule carries its page of the knowledge base as help text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from optimas_lsp import __version__
from optimas_lsp.insight.evidence import Analysis, Cause, Evidence, KernelAnalysis, Location
from optimas_lsp.insight.knowledge import page, rules
from optimas_lsp.insight.ranking import Ranked, rank
from optimas_lsp.insight.stalls import reason

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
"""Base of relative paths: the folder the command ran in."""

_LEVELS = {"act": "warning", "hot": "note", "note": "none"}
_MOST_RELATED = 20

Json = dict[str, Any]


def sarif(analyses: Sequence[Analysis], root: Path | None = None) -> str:
    """The analyses as SARIF text; paths of workspace files become relative to ``root`` where they lie below it."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_Run(each, root).run() for each in analyses]}
    return json.dumps(log, indent=1, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8") + "\n"


class _Run:
    def __init__(self, analysis: Analysis, root: Path | None) -> None:
        self._analysis = analysis
        self._root = root.absolute() if root is not None else None
        self._rules: dict[str, int] = {}

    def run(self) -> Json:
        results = [self._result(one, kernel) for kernel, order in rank(self._analysis.kernels) for one in order]
        report = self._analysis.report
        return {
            "tool": {
                "driver": {
                    "name": "Optimas",
                    "semanticVersion": __version__,
                    "rules": [_rule(name) for name in self._rules],
                },
                "extensions": [{"name": report.tool or "profiler", "version": report.tool_version or "unknown"}],
            },
            "automationDetails": {"id": f"optimas/{_file_name(report.path)}/"},
            "originalUriBaseIds": {ROOT: {"description": {"text": "The folder Optimas ran in."}}},
            "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": self._notifications()}],
            "properties": {"device": report.device, "reportSha256": report.sha256},
            "results": results,
            "columnKind": "utf16CodeUnits",
        }

    def _notifications(self) -> list[Json]:
        return [
            {"level": "note", "message": {"text": note.text}, "descriptor": {"id": note.code}}
            for note in self._analysis.notes
        ]

    def _result(self, one: Ranked, kernel: KernelAnalysis) -> Json:
        evidence = one.evidence
        at = evidence.shown or evidence.location or kernel.location
        related = self._related(evidence)
        result: Json = {
            "ruleId": evidence.rule,
            "ruleIndex": self._rules.setdefault(evidence.rule, len(self._rules)),
            "level": _LEVELS[evidence.level],
            "kind": "informational" if evidence.level == "note" else "fail",
            "message": {"text": _message(evidence, kernel, related)},
            "locations": [self._location(at, kernel)],
            "rank": round(100.0 * (1.0 - 1.0 / one.buys), 2) if one.buys > 1.0 else 0.0,
            "partialFingerprints": {"optimasFinding/v1": _fingerprint(evidence, kernel)},
            "properties": {
                "evidence": [evidence.id, *one.merged],
                "samples": evidence.samples,
                "share": evidence.share,
                "margin": evidence.margin,
                "atMost": round(one.buys, 4),
            },
        }
        if related:
            result["relatedLocations"] = [entry for entry, _ in related]
        return result

    def _related(self, evidence: Evidence) -> list[tuple[Json, str]]:
        """Related locations with ids from 1, and the words that stand for each."""
        listed: list[tuple[Location, str]] = [
            (_place_of(cause), _cause_words(cause)) for cause in evidence.known_causes
        ]
        listed += [(place, "waits for this line") for place in evidence.waits]
        shown, location = evidence.shown, evidence.location
        if shown is not None and location is not None and shown != location:
            listed.append((location, "where the samples fall"))
        listed += [(place, "inlined here") for place in evidence.inlined_at if place != shown]
        found: list[tuple[Json, str]] = []
        for place, words in listed[:_MOST_RELATED]:
            if place.line > 0:
                number = len(found) + 1
                entry = {"id": number, "physicalLocation": self._physical(place), "message": {"text": _plain(words)}}
                found.append((entry, f"{_file_name(place.file)}:{place.line}"))
        return found

    def _location(self, at: Location | None, kernel: KernelAnalysis) -> Json:
        logical: Json = {"name": kernel.base_name, "fullyQualifiedName": kernel.name, "kind": "function"}
        physical = self._physical(at) if at is not None and at.line > 0 else self._whole_report()
        return {"logicalLocations": [logical], "physicalLocation": physical}

    def _whole_report(self) -> Json:
        """The report itself, for a finding without a source line: code hosts refuse a result that is in no file."""
        path = self._analysis.report.path
        return self._physical(Location(file=path, path=path, line=1))

    def _physical(self, at: Location) -> Json:
        return {"artifactLocation": self._artifact(at), "region": {"startLine": at.line}}

    def _artifact(self, at: Location) -> Json:
        if at.path is not None:
            path = Path(at.path).absolute()
            if self._root is not None and path.is_relative_to(self._root):
                return {"uri": _quoted(path.relative_to(self._root).as_posix()), "uriBaseId": ROOT}
            return {"uri": path.as_uri()}
        name = at.file.replace("\\", "/")
        if name.startswith("/"):
            return {"uri": "file://" + _quoted(name)}
        if len(name) > 2 and name[1] == ":" and name[2] == "/":
            return {"uri": "file:///" + name[:2] + _quoted(name[2:])}
        return {"uri": _quoted(name) or "unknown"}


def _quoted(path: str) -> str:
    """A path as part of a URI; a colon stays out of a relative path's first part, where it would name a scheme."""
    safe = "/@!$&'()*+,;=~-._"
    return quote(path.encode("utf-8", "replace"), safe=safe + ":" if path.startswith("/") else safe)


def _rule(name: str) -> Json:
    known = rules().get(name)
    if known is None:
        row = reason(name)
        text = f"Warps wait for {row.waits_for}. {row.meaning}"
        return {"id": name, "shortDescription": {"text": _plain(name)}, "help": {"text": _plain(text)}}
    text = page(known, links=False)
    spoken = "".join(part.capitalize() for part in name.replace("_", "-").split("-"))
    return {
        "id": name,
        **({"name": spoken} if spoken.lower() != name else {}),
        "shortDescription": {"text": f"{known.title}."},
        "fullDescription": {"text": known.means},
        "help": {"text": text, "markdown": text},
        "properties": {"tags": ["performance", "gpu", known.kind]},
    }


def _message(evidence: Evidence, kernel: KernelAnalysis, related: Sequence[tuple[Json, str]]) -> str:
    """The finding's sentence, its causes as links to the related locations."""
    text = f"{evidence.id} in {_plain(kernel.base_name)}: {_plain(evidence.text)}"
    causes = [
        f"[{_plain(words)}]({entry['id']}) {_plain(entry['message']['text'])}"
        for entry, words in related[: len(evidence.known_causes)][:3]
    ]
    return f"{text} {'; '.join(causes)}." if causes else text


def _cause_words(cause: Cause) -> str:
    return f"causes {100 * cause.share:.0f} % of it ({cause.opcode}, {cause.confidence})"


def _place_of(cause: Cause) -> Location:
    return Location(file=cause.file, line=cause.line, path=cause.path)


def _fingerprint(evidence: Evidence, kernel: KernelAnalysis) -> str:
    """Stable over profiles of the same source: kernel, rule and place, and no measured number."""
    at = evidence.shown or evidence.location
    parts = (
        kernel.mangled,
        evidence.source,
        evidence.rule,
        _file_name(at.file) if at else "",
        str(at.line if at else 0),
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _plain(text: str) -> str:
    """Text whose brackets are no links: SARIF reads [text](target) inside a message as one."""
    clean = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return clean.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _file_name(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).name or "unknown"
