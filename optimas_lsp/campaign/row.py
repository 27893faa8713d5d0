"""One row of the dataset: an experiment's axes and what came of it, as plain values; no code, no path, no answer.

``ending`` says how far the experiment came, ``gate`` which check ended it. ``speedup`` (old time over new, with the
interval of its proof: 95 % unless set otherwise, wider for later proofs of one search) is there only when the proof was
completed *and* its timing was made on the experiment's own input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field

from optimas_lsp import __version__
from optimas_lsp.campaign.ending import Ending, Fault, ending_of, fault_of, gate_of, gates_in, label_of
from optimas_lsp.campaign.experiment import SCHEMA, Axes
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.parse import NoProposal

GATES = ("static", "build", "determinism", "run", "compare", "sanitize", "time", "plausible")
"""The gates of a proof that a row has a column for."""

NOT_APPLICABLE = frozenset({"EvidenceMissingError"})


class Row(Frozen):
    """A row. Seconds are of the wall; ``tries`` says how each answer ended, with spaces between.

    An experiment that was not run because its program had failed in another one before has no seconds and no tries.
    """

    schema_: Literal["optimas.experiment/1"] = Field(default=SCHEMA, alias="schema")
    key: str
    program: str
    kernel: str
    backend: str
    model: str
    evidence: str
    input: str
    repetition: int
    device: str
    ending: Ending
    gate: str = ""
    sentence: str = ""
    kernel_name: str = ""
    tries: str = ""
    transformation: str = ""
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    timed_input: str = ""
    clock: str = ""
    program_speedup: float | None = None
    ceiling: float | None = None
    gpu: str = ""
    recorded: str = ""
    unchecked: str = ""
    gates: dict[str, str] = Field(default={})
    prompt_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    ear_coverage: float | None = None
    ear_precision: float | None = None
    ear_hot_samples: float | None = None
    ear_edited_lines: float | None = None
    ear_direction: float | None = None
    start_s: float | None = None
    summary_s: float | None = None
    model_s: float | None = None
    guard_s: float | None = None
    build_s: float | None = None
    proof_s: float | None = None
    proof_recorded_s: float | None = Field(default=None, description="of a recorded proof, where it was made")
    total_s: float | None = None
    started: str = ""
    optimas: str = __version__

    def flat(self) -> dict[str, Any]:
        """One value a column: ``gates`` becomes ``gate_build`` and so on."""
        plain = self.model_dump(mode="json", by_alias=True, exclude={"gates"})
        return {**plain, **{f"gate_{name}": self.gates.get(name, "") for name in GATES}}


def row_of_error(key: str, axes: Axes, kind: str, sentence: str, seconds: Mapping[str, float]) -> Row:
    """An experiment without an outcome."""
    ending: Ending = "no-evidence" if kind in NOT_APPLICABLE else "failed"
    return Row.model_validate(
        {"key": key, **axes.plain(), "ending": ending, "sentence": without_folders(sentence), **_times(seconds)}
    )


def row_of_fault(key: str, axes: Axes, fault: Fault) -> Row:
    """An experiment that was not run, because its program is known to fail unchanged."""
    return Row.model_validate(
        {"key": key, **axes.plain(), "ending": "program-failed", "gate": fault.gate, "sentence": fault.sentence}
    )


def row_of(key: str, axes: Axes, rewriting: Rewriting, seconds: Mapping[str, float]) -> Row:
    """The row of an outcome; ``seconds`` are wall times by stage, and ``start`` and ``total``."""
    proofs = (each.judged for each in reversed(rewriting.attempts) if each.judged is not None)
    proof = rewriting.proof or next(proofs, None)
    details: dict[str, Any] = {} if proof is None else proof.details
    gates = {str(each["name"]): str(each["status"]) for each in gates_in(details)}
    recorded = str(details.get("recorded") or "")
    machine = cast("dict[str, dict[str, Any] | None]", details.get("machine") or {})
    roofline = None if rewriting.analysis is None else rewriting.analysis.roofline
    ceiling = None if roofline is None else roofline.ceiling
    fault = fault_of(rewriting)
    ending = ending_of(rewriting)
    plain: dict[str, Any] = {
        "key": key,
        **axes.plain(),
        "ending": ending,
        "gate": gate_of(rewriting, ending),
        "sentence": without_folders(rewriting.sentence if fault is None else fault.sentence),
        "kernel_name": rewriting.kernel,
        "tries": " ".join(map(label_of, rewriting.attempts)),
        "transformation": _transformation(rewriting),
        **_timing(details, axes.input, ending),
        "ceiling": None if ceiling is None else ceiling.work_speedup,
        "gpu": str((machine.get("gpu") or {}).get("name") or ""),
        "recorded": recorded,
        "unchecked": without_folders("; ".join(cast("list[str]", details.get("not_checked") or []))),
        "gates": {name: status for name, status in gates.items() if name in GATES},
        "prompt_tokens": rewriting.prompt.tokens,
        "input_tokens": rewriting.usage.input_tokens,
        "output_tokens": rewriting.usage.output_tokens,
        "cost_usd": rewriting.usage.cost_usd,
        **_ear(rewriting.scores),
        **_times(seconds),
        "proof_recorded_s": sum(float(each.get("seconds") or 0) for each in gates_in(details)) if recorded else None,
        "started": rewriting.started,
    }
    return Row.model_validate(plain)


_ABSOLUTE = re.compile(r"(?<![\w/])/(?:[^\s/:;,'\"()]+/)+")
"""The folders of an absolute path; its last name stays."""


def without_folders(text: str) -> str:
    """Text without the places where things happened to lie; they mean nothing elsewhere."""
    return _ABSOLUTE.sub("", text)


def _transformation(rewriting: Rewriting) -> str:
    """The names of what the last judged answer does, each once."""
    standing = rewriting.standing
    for attempt in reversed(rewriting.attempts) if standing is None else (standing,):
        if not isinstance(attempt.reply.outcome, NoProposal) and attempt.reply.outcome.changes:
            return "; ".join(dict.fromkeys(each.transformation for each in attempt.reply.outcome.changes))
    return ""


def _timing(details: Mapping[str, Any], wanted: str, ending: Ending) -> dict[str, Any]:
    """Speed-up on the input that was timed; kept as the experiment's own only where that is the same input."""
    timing = cast("dict[str, Any]", details.get("timing") or {})
    timed = str(timing.get("input") or "")
    several = cast("dict[str, dict[str, Any]]", timing.get("inputs") or {})
    if wanted in several:
        timing, timed = several[wanted], wanted
    clock = next((name for name in ("kernel_ns", "gpu_ns") if timing.get(name)), "")
    if not clock or ending not in {"proven", "refuted"}:
        return {"timed_input": timed}
    effect = cast("dict[str, Any]", timing[clock])
    whole = cast("dict[str, Any]", timing.get("program_s") or {})
    found: dict[str, Any] = {"timed_input": timed, "clock": clock.removesuffix("_ns")}
    if timed == wanted or not wanted:
        found.update({name: _number(effect.get(name)) for name in ("speedup", "low", "high")})
        found["program_speedup"] = _number(whole.get("speedup"))
    return found


_EAR = {
    "ear_coverage": ("citations", "coverage"),
    "ear_precision": ("citations", "precision"),
    "ear_hot_samples": ("localisation", "hot_samples"),
    "ear_edited_lines": ("localisation", "edited_lines"),
    "ear_direction": ("direction", "given"),
}


def _ear(scores: Mapping[str, Any] | None) -> dict[str, float | None]:
    """The values of optimas.ear/1; None where a score could not be measured."""

    def value(group: str, name: str) -> float | None:
        groups = cast("dict[str, dict[str, dict[str, Any] | None] | None]", scores or {})
        return _number(((groups.get(group) or {}).get(name) or {}).get("value"))

    return {column: value(*path) for column, path in _EAR.items()}


_STAGES = {
    "start_s": ("start",),
    "summary_s": ("select", "prompt"),
    "model_s": ("propose",),
    "guard_s": ("guard",),
    "build_s": ("compile",),
    "proof_s": ("prove",),
    "total_s": ("total",),
}


def _times(seconds: Mapping[str, float]) -> dict[str, float | None]:
    """Columns of seconds; None for a stage that was not reached."""
    known = {column: [seconds[stage] for stage in stages if stage in seconds] for column, stages in _STAGES.items()}
    return {column: round(sum(found), 4) if found else None for column, found in known.items()}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
