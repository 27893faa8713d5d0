"""From what other rooms write (a rewriting with its proofs) to the corpus' own entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import optimas_lsp
from optimas_lsp.corpus.code import base_name, code_of, licence_of, original_text
from optimas_lsp.corpus.model import (
    Author,
    Device,
    Effect,
    Ending,
    Entry,
    Finding,
    Gate,
    Named,
    NewText,
    Origin,
    Standing,
    Step,
    Timing,
)
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.profile.model import Device as ProfiledDevice
from optimas_lsp.profile.model import Tool
from optimas_lsp.rewrite.compile import CANNOT_BUILD
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.syntax import language_of


@dataclass(frozen=True)
class Context:
    """What a rewriting does not say of itself: whose code it is and under which licence (SPDX; None: not known).

    ``text`` is the file's text before the change; without it, it is found out.
    """

    project: str = ""
    licence: str | None = None
    text: str | None = None


def entries_of(rewriting: Rewriting, *, context: Context | None = None) -> tuple[Entry, ...]:
    """One entry for each answer, keys included. Scores are of the answer that they name: the one that stands."""
    given = context or Context()
    text = given.text if given.text is not None else original_text(rewriting)
    same = {
        "date": rewriting.started or datetime.now(UTC).replace(microsecond=0).isoformat(),
        "code": code_of(text or "", rewriting.prompt.functions, rewriting.prompt.source),
    }
    origin = Origin(
        project=given.project,
        licence=given.licence or licence_of(text or ""),
        report_sha256=rewriting.report_sha256,
        source_sha256=rewriting.base_sha256,
        optimas=optimas_lsp.__version__,
    )
    found: list[Entry] = []
    for attempt in rewriting.attempts:
        details = _details(attempt)
        origin_here = origin.model_copy(
            update={"job": str(details.get("job") or ""), "recorded": str(details.get("recorded") or "")}
        )
        shown = attempt is (rewriting.standing or rewriting.last)
        entry = _entry(rewriting, attempt, shown=shown).model_copy(update={**same, "origin": origin_here})
        found.append(entry.keyed())
    return tuple(found)


def _entry(rewriting: Rewriting, attempt: Attempt, *, shown: bool) -> Entry:
    outcome = attempt.reply.outcome
    proposal = outcome if isinstance(outcome, Proposal) else Proposal(functions=())
    kernel = rewriting.analysis
    proof = attempt.proof or attempt.screened
    details = _details(attempt)
    usage = attempt.reply.usage
    return Entry(
        ending=ending_of(attempt),
        sentence=proof.said if proof is not None else attempt.problem or rewriting.sentence,
        kernel=rewriting.kernel,
        mangled=rewriting.prompt.kernel,
        base_name=kernel.base_name if kernel is not None else base_name(rewriting.kernel),
        file=rewriting.prompt.source,
        language=language_of(rewriting.prompt.source) or "cuda",
        number=attempt.number,
        patch=attempt.diff,
        **proposed(proposal),
        **known_of(kernel),
        gates=(*_guardrails(attempt), *gates_of(details.get("gates"))),
        timing=timing_of(details.get("timing")),
        not_checked=texts_of(details.get("not_checked")),
        scores=rewriting.scores if shown else None,
        explanation=rewriting.explanation if shown else (),
        compared=(None if proof is None else proof.compared) or (rewriting.compared if shown else None),
        device=device_of(rewriting.device, details.get("machine")),
        tools=tools_of(rewriting.tool, details.get("machine")),
        author=Author(
            backend=rewriting.backend,
            model=attempt.reply.model or (rewriting.destination.model if rewriting.destination else ""),
            prompt=rewriting.prompt.schema_,
            subset=rewriting.prompt.subset,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
        ),
    )


def _details(attempt: Attempt) -> dict[str, Any]:
    """The proof's own outcome as plain data, or that of the short proof which compared candidates."""
    proof = attempt.proof or attempt.screened
    return {} if proof is None else proof.details


def ending_of(attempt: Attempt) -> Ending:
    """How far an attempt came."""
    outcome = attempt.reply.outcome
    if not isinstance(outcome, Proposal):
        return "unusable"
    if not outcome.functions:
        return "nothing"
    if attempt.compiled is not None and attempt.compiled.status in CANNOT_BUILD:
        return "not-proven"  # for want of a compiler or a command, which says nothing about the change
    if attempt.compiled is not None and not attempt.compiled.good:
        return "not-built"
    if attempt.stopped_at in {"guard", "compile"}:
        return "refused"
    proof = attempt.proof or attempt.screened  # a short proof never says proven
    return "not-proven" if proof is None else proof.state


def proposed(proposal: Proposal) -> dict[str, Any]:
    """The fields of an entry that a proposal fills."""
    steps = tuple(
        Step(
            function=each.function,
            lines=each.original_lines,
            transformation=each.transformation,
            evidence=each.evidence,
            reason=each.reason,
            expects=each.expects,
        )
        for each in proposal.changes
    )
    texts = tuple(NewText(function=each.function, text=each.text) for each in proposal.functions)
    return {"functions": texts, "steps": steps, "bit_exact": proposal.bit_exact if proposal.functions else None}


def known_of(kernel: KernelAnalysis | None) -> dict[str, Any]:
    """The fields of an entry that a kernel's analysis fills."""
    if kernel is None:
        return {}
    line = kernel.roofline
    standing = None
    if line is not None:
        ceiling = line.ceiling
        standing = Standing(
            verdict=line.verdict,
            compute_pct=line.compute_pct,
            memory_pct=line.memory_pct,
            ceiling=None if ceiling is None else ceiling.speedup,
            work_ceiling=None if ceiling is None else ceiling.work_speedup,
        )
    findings = tuple(
        Finding(
            id=each.id,
            source=each.source,
            rule=each.rule,
            level=each.level,
            share=each.share,
            margin=each.margin,
            samples=each.samples,
            not_issued=each.not_issued,
            confidence=each.confidence,
            file=None if each.location is None else re.split(r"[/\\]", each.location.file)[-1],
            line=None if each.location is None else each.location.line,
            text=each.text,
            expects=each.expects,
            bound=None if each.bound is None else each.bound.speedup,
        )
        for each in kernel.evidence
    )
    return {
        "findings": findings,
        "standing": standing,
        "time_ns": kernel.gpu_time_ns,
        "share": kernel.share,
        "grid": kernel.grid,
        "block": kernel.block,
    }


def gates_of(found: object) -> tuple[Gate, ...]:
    """The gates of a proof's outcome as plain data; what is no gate is left out."""
    gates: list[Gate] = []
    for each in cast("list[object]", found) if isinstance(found, (list, tuple)) else []:
        data = _table(each)
        if data.get("status") in {"pass", "fail", "flag", "skipped"}:
            known = {name: data[name] for name in Gate.model_fields if name in data}
            gates.append(Gate.model_validate(known))
    return tuple(gates)


def timing_of(found: object) -> Timing | None:
    """The timing of a proof's outcome as plain data; None where nothing was timed."""
    data = _table(found)
    kernel, gpu, program = (
        _effect(data.get(name), unit) for name, unit in (("kernel_ns", 1.0), ("gpu_ns", 1.0), ("program_s", 1e9))
    )
    if kernel is None and gpu is None and program is None:
        return None
    return Timing(
        input=str(data.get("input", "")),
        pairs=int(data.get("pairs", 0)),
        clock=str(data.get("source", "")),
        kernel=kernel,
        gpu=gpu,
        program=program,
    )


def _effect(found: object, unit: float) -> Effect | None:
    data = _table(found)
    names = ("baseline", "candidate", "speedup", "low", "high")
    values = [data.get(name) for name in names]
    if not all(isinstance(each, (int, float)) for each in values):
        return None
    before, after, speedup, low, high = (float(cast("float", each)) for each in values)
    return Effect(before_ns=before * unit, after_ns=after * unit, speedup=speedup, low=low, high=high)


def device_of(profiled: ProfiledDevice | None, machine: object) -> Device:
    """The profiled GPU, else that of the machine the proof ran on; with that machine's driver."""
    gpu = _table(_table(machine).get("gpu"))
    driver = str(gpu.get("driver") or "")
    if profiled is None:
        return Device(name=str(gpu.get("name") or ""), driver=driver)
    return Device(name=profiled.name, compute_capability=profiled.compute_capability, driver=driver)


def tools_of(profiler: Tool | None, machine: object) -> tuple[Named, ...]:
    """The profiler that wrote the report, and the tools of the machine that the proof ran on."""
    tools = _table(_table(machine).get("tools"))
    found = {name: str(tools[name]) for name in sorted(tools) if tools[name]}
    if profiler is not None:
        found = {f"profiled with {profiler.name}": profiler.version, **found}
    return tuple(Named(name=name, version=version) for name, version in found.items())


def texts_of(found: object) -> tuple[str, ...]:
    """A list of plain data as texts."""
    return tuple(str(each) for each in cast("list[object]", found)) if isinstance(found, (list, tuple)) else ()


def _guardrails(attempt: Attempt) -> tuple[Gate, ...]:
    """The guardrails that did not pass, by their rule's name."""
    rules = attempt.verdict.rules if attempt.verdict is not None else ()
    return tuple(
        Gate(name=f"guard:{each.id}", status=each.status, sentence=each.message)
        for each in rules
        if each.status in {"fail", "flag"}
    )


def _table(found: object) -> dict[str, Any]:
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
