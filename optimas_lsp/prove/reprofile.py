"""Reads what a proof profiled again: how cited findings moved, whether the candidate's own work allows its time.

The runner has no reader for reports. A gain above what the *original's* work allows leaves its gate *plausible* open;
here the candidate's own profile settles it, and only that: every other required gate has passed in the runner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.config import Settings
from optimas_lsp.errors import OptimasError
from optimas_lsp.insight.changes import Comparison, EvidenceChange
from optimas_lsp.insight.compare import compare
from optimas_lsp.insight.costs import NOISE
from optimas_lsp.insight.evidence import Analysis, Evidence, KernelAnalysis, Location
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.executors.outcome import GateOutcome, Outcome
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.alignment import match

MARGIN = 1.05
"""What a measured gain may pass a ceiling by: peaks and times are themselves measured."""


@dataclass(frozen=True)
class Cited:
    """The report that a proposal was made from, the kernels whose evidence it could cite, and the ids that it cites.

    ``proven`` are the mangled names of all kernels that were timed together.
    """

    profile: Profile
    kernels: tuple[KernelAnalysis, ...]
    ids: frozenset[str]
    proven: tuple[str, ...]

    @classmethod
    def by(
        cls, proposal: Proposal, profile: Profile, kernels: Sequence[KernelAnalysis], proven: Sequence[str]
    ) -> Cited:
        """What ``proposal`` cites."""
        ids = frozenset(each for change in proposal.changes for each in change.evidence)
        return cls(profile, tuple(kernels), ids, tuple(proven))


def judged(job: Path, outcome: Outcome, cited: Cited, settings: Settings) -> tuple[Outcome, Comparison | None]:
    """The outcome after the two new reports in the job's folder were read, and their comparison.

    Reading happens in worker processes. What was not profiled again, or cannot be read, changes nothing but the gate's
    sentence; a report that is not the one the runner sealed rejects.
    """
    gate = outcome.gate("reprofile")
    if gate is None or gate.status != "pass" or outcome.recorded:  # a record holds no reports
        return outcome, None
    reports = {side: job / f"{side}.ncu-rep" for side in ("baseline", "candidate")}
    for side, report in reports.items():
        if not report.is_file():
            words = f"{gate.sentence}, but the report of the {side} did not come back"
            return _with(outcome, gate.model_copy(update={"status": "skipped", "sentence": words})), None
        if _digest(report) != gate.facts.get("reports", {}).get(side):
            words = f"the report of the {side} is not the one that ncu wrote"
            return _with(outcome, gate.model_copy(update={"status": "fail", "sentence": words}), "rejected"), None
    try:
        before, after = (load_analysis(report, settings, keep_all=True) for report in reports.values())
    except OptimasError as error:
        words = f"{gate.sentence}, but the reports cannot be read: {error.sentence()}"
        return _with(outcome, gate.model_copy(update={"status": "skipped", "sentence": words})), None
    comparison = compare((before[0], _with_evidence(*before, cited)), after)
    moved = tuple(sentences(comparison, cited.ids))
    sentence = f"{gate.sentence}; {_summary(comparison, cited.ids)}"
    facts = {**gate.facts, "cited": list(moved)}
    found = _with(outcome, gate.model_copy(update={"sentence": sentence, "facts": facts}))
    return settled(found, before[1], after[1], cited.proven), comparison


def settled(outcome: Outcome, before: Analysis, after: Analysis, kernels: Sequence[str]) -> Outcome:
    """The outcome with the gate *plausible* closed, if only that was open, by the new profiles of both versions.

    A candidate that does less work than the original may be faster than the original's work allows, but not faster
    than its own work allows: the original's time over the least time of the candidate's DRAM bytes and arithmetic.
    """
    gate = outcome.gate("plausible")
    timing = outcome.timing or {}
    if outcome.pending != ("plausible",) or gate is None or gate.status != "skipped" or "kernel_ns" not in timing:
        return outcome
    gain = timing["kernel_ns"]
    own, why = own_ceiling(before, after, kernels)
    if own is None:
        sentence = f"{gate.sentence}; {why}"
        return _with(outcome, gate.model_copy(update={"sentence": sentence}))
    numbers = (
        f"{gain['speedup']:.2f} times faster; the roofline allows {gate.facts['ceiling']:.2f} for the original's work "
        f"and {own:.2f} for the candidate's, which its own profile shows"
    )
    if gain["low"] > own * MARGIN:
        failed = gate.model_copy(update={"status": "fail", "sentence": f"{numbers}: a person must look"})
        return _with(outcome, failed, "rejected")
    facts = {**gate.facts, "own_ceiling": own}
    passed = gate.model_copy(update={"status": "pass", "sentence": numbers, "facts": facts})
    return _with(outcome, passed, "proven").model_copy(update={"pending": ()})


def own_ceiling(before: Analysis, after: Analysis, kernels: Sequence[str]) -> tuple[float | None, str]:
    """How many times shorter than the original a program with the candidate's work could be, or None and why.

    Summed over the kernels with these mangled names; times are means per launch of equally many launches.
    """
    time, least, took = 0.0, 0.0, 0.0
    for name in kernels:
        old, new = (next((k for k in each.kernels if k.mangled == name), None) for each in (before, after))
        if old is None and new is None:
            continue
        if old is None or new is None or old.launches != new.launches:
            return None, f"the new profiles do not hold the same launches of {name}"
        ceiling = None if new.roofline is None else new.roofline.ceiling
        if old.gpu_time_ns is None or new.gpu_time_ns is None or ceiling is None or ceiling.work_time_ns is None:
            return None, f"the candidate's profile does not say what work {new.base_name} did"
        time += old.gpu_time_ns
        took += new.gpu_time_ns
        least += ceiling.work_time_ns
    if not least:
        return None, "the new profiles hold none of the kernels"
    if took > time * (1 - NOISE):
        return None, "the new profiles do not show the candidate faster: a person must look"
    return time / least, ""


def sentences(comparison: Comparison, ids: frozenset[str]) -> Iterator[str]:
    """What became of each cited finding, one sentence for each thing it implied."""
    found: set[str] = set()
    for change in _cited(comparison, ids):
        found.add(change.id)
        yield sentence(change)
    for missing in sorted(ids - found):
        yield f"{missing} implies nothing that the new profiles measure"


def sentence(change: EvidenceChange) -> str:
    """One expectation of one finding and how it really moved."""
    what = change.change
    place = f" at {change.place}" if change.place else ""
    over = {"line": "", "block": " (over the lines that replaced it)", "kernel": " (over the kernel)"}[change.where]
    head = f"{change.id} {what.metric}{place}{over if change.place else ''}"
    if what.before is None or what.after is None or what.moved == "unknown":
        return f"{head}: should go {change.expected}; not measured in both profiles"
    went = f"{_amount(what.before, what.unit)} to {_amount(what.after, what.unit)} a launch"
    if change.consistent is None:
        return f"{head}: should go {change.expected}; {went}, no more than the noise"
    return f"{head}: {'went' if change.consistent else 'should go'} {change.expected}" + (
        f" as implied, {went}" if change.consistent else f" but went {what.moved}, {went}"
    )


def _amount(value: float, unit: str) -> str:
    if unit == "ns":
        return f"{value / 1000:.4g} µs"
    return f"{value:.1%}" if unit == "share" else f"{value:.4g}{' ' + unit if unit else ''}"


def _cited(comparison: Comparison, ids: frozenset[str]) -> Iterator[EvidenceChange]:
    for kernel in comparison.kernels:
        yield from (each for each in kernel.evidence if each.id in ids)


def _summary(comparison: Comparison, ids: frozenset[str]) -> str:
    by_id: dict[str, list[bool | None]] = {}
    for change in _cited(comparison, ids):
        by_id.setdefault(change.id, []).append(change.consistent)
    if not ids:
        return "the proposal cites no evidence"
    first = [next((each for each in moves if each is not None), None) for moves in by_id.values()]
    counts = (
        ("moved as implied", sum(each is True for each in first)),
        ("moved the other way", sum(each is False for each in first)),
        ("did not move by more than the noise", sum(each is None for each in first)),
        ("could not be measured", len(ids) - len(first)),
    )
    said = ", ".join(f"{count} {words}" for words, count in counts if count)
    return f"of {len(ids)} cited finding{'' if len(ids) == 1 else 's'} {said}"


def _with_evidence(profile: Profile, analysis: Analysis, cited: Cited) -> Analysis:
    """The original's new analysis with the findings that the proposal could cite, led to the lines of the new profile.

    Findings get their ids anew in each analysis; what is compared must be what was cited.
    """
    leads = _Lines(cited.profile, profile)
    old = {each.mangled: each for each in cited.kernels}
    kernels: list[KernelAnalysis] = []
    for each in analysis.kernels:
        # what was not cited from has no evidence here: its new ids could be the same as cited ones
        known = old[each.mangled].evidence if each.mangled in old else ()
        evidence = tuple(leads.evidence(one, cited.ids) for one in known)
        kernels.append(each.model_copy(update={"evidence": evidence}))
    return analysis.model_copy(update={"kernels": tuple(kernels)})


class _Lines:
    """Leads places of one profile to another profile of the same program, whose folder and lines may be others."""

    def __init__(self, old: Profile, new: Profile) -> None:
        self._old = {each.path: each.text for each in old.files}
        names = [_name(each.path) for each in new.files]
        self._new = {_name(each.path): each for each in new.files if names.count(_name(each.path)) == 1}
        self._pairs: dict[str, list[int]] = {}

    def evidence(self, one: Evidence, ids: frozenset[str]) -> Evidence:
        moved = {
            "location": self._place(one.location),
            "shown": self._place(one.shown),
            "waits": tuple(found for each in one.waits if (found := self._place(each)) is not None),
            # a comparison leaves notes out, but not those that somebody built on
            "level": "hot" if one.level == "note" and one.id in ids else one.level,
        }
        return one.model_copy(update=moved)

    def _place(self, at: Location | None) -> Location | None:
        if at is None:
            return None
        file = self._new.get(_name(at.file))
        if file is None:
            return at
        line = self._line(at.file, at.line, self._old.get(at.file), file.text)
        return at.model_copy(update={"file": file.path, "line": line})

    def _line(self, path: str, line: int, old: str | None, new: str | None) -> int:
        if old is None or new is None or old == new:
            return line
        if path not in self._pairs:
            self._pairs[path] = [int(each) for each in match(old.splitlines(), new.splitlines())]
        pairs = self._pairs[path]
        index = pairs[line - 1] if 0 < line <= len(pairs) else -1
        return index + 1 if index >= 0 else line


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _with(outcome: Outcome, gate: GateOutcome, verdict: str = "") -> Outcome:
    """The outcome with this gate instead of the one of its name, and the verdict, where that changes."""
    gates = tuple(gate if each.name == gate.name else each for each in outcome.gates)
    return outcome.model_copy(update={"gates": gates, "verdict": verdict or outcome.verdict})
