"""Recorded outcomes (``optimas.recorded-outcome/1``) with the report beside them, as entries."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from optimas_lsp.config import FILE_NAME, Lines, Settings, from_toml, load_toml
from optimas_lsp.corpus.convert import (
    base_name,
    code_of,
    device_of,
    gates_of,
    known_of,
    proposed,
    texts_of,
    timing_of,
    tools_of,
)
from optimas_lsp.corpus.dataset import DatasetError
from optimas_lsp.corpus.model import Author, Ending, Entry, Origin
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score.recorded import recorded_rewritings
from optimas_lsp.source.text import decode

SCHEMA = "optimas.recorded-outcome/1"
_ENDINGS: dict[str, Ending] = {"proven": "proven", "rejected": "refuted"}


def recorded_entries(outcomes: Path, *, project: str, licence: str | None) -> list[Entry]:
    """The entries of an ``outcomes.json``; the report is the first that ``optimas.toml`` beside it names.

    Raises DatasetError for a file that is none, ReportError and ConfigError.
    """
    folder = outcomes.parent
    toml = folder / FILE_NAME
    report = folder / load_toml(toml)["profile"]["reports"][0]
    settings = from_toml(toml) if toml.is_file() else Settings()
    profile, analysis = load_analysis(report, settings, resolve=lambda _source: None, keep_all=True)
    found: list[Entry] = []
    try:
        for number, outcome in enumerate(cast("list[dict[str, Any]]", json.loads(outcomes.read_bytes())["outcomes"])):
            if outcome.get("schema") != SCHEMA:
                raise DatasetError(f"outcome {number + 1} is not of the schema {SCHEMA}", where=outcomes)
            found.append(_entry(outcome, folder, profile, analysis, Origin(project=project, licence=licence)))
        reasoned = [each.rewriting for each in recorded_rewritings(outcomes)]
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise DatasetError(f"is no file of recorded outcomes: {error}", where=outcomes) from None
    return [
        entry.model_copy(update={"scores": each.scores, "explanation": each.explanation}).keyed()
        for entry, each in zip(found, reasoned, strict=True)
    ]


def _entry(outcome: dict[str, Any], folder: Path, profile: Profile, analysis: Analysis, origin: Origin) -> Entry:
    proposal = Proposal.model_validate(outcome["proposal"])
    kernel = _told(_kernel(outcome, proposal, analysis), proposal)
    file = str(outcome["file"])
    data = (folder / file).read_bytes()
    gates = gates_of(outcome["gates"])
    timing = timing_of(outcome["timing"])
    verdict = str(outcome["verdict"])
    last = next((gate for gate in gates if gate.status == "fail"), None)
    timed = next((gate for gate in gates if gate.name == "time"), None)
    decisive = last or timed
    return Entry(
        ending=_ENDINGS.get(verdict, "not-proven"),
        sentence=f"{verdict}: {decisive.sentence}" if decisive is not None else verdict,
        date=str(outcome["date"]),
        kernel=kernel.name,
        mangled=kernel.mangled,
        base_name=kernel.base_name or base_name(kernel.name),
        file=file,
        number=1,
        code=code_of(decode(data).text, [each.function for each in proposal.functions], file),
        patch=str(outcome["diff"]),
        **proposed(proposal),
        **known_of(kernel),
        gates=gates,
        timing=timing,
        not_checked=texts_of(outcome["not_checked"]),
        device=device_of(profile.device, outcome["machine"]),
        tools=tools_of(profile.tool, outcome["machine"]),
        author=Author(backend="catalogue", model="catalogue"),
        origin=origin.model_copy(
            update={
                "report_sha256": profile.report_sha256,
                "source_sha256": sha256(data).hexdigest(),
                "job": str(outcome["bundle"]),
            }
        ),
    )


def _kernel(outcome: dict[str, Any], proposal: Proposal, analysis: Analysis) -> KernelAnalysis:
    """Of the kernels that the change is about, the one whose evidence it cites most, then the costliest."""
    names = {str(each) for each in outcome["kernels"]}
    cited = {each for change in proposal.changes for each in change.evidence}
    meant = [each for each in analysis.kernels if each.name in names]
    if not meant:
        raise ValueError(f"none of {', '.join(sorted(names))} is in the report")
    return max(meant, key=lambda each: (len(cited & {item.id for item in each.evidence}), each.gpu_time_ns or 0.0))


def _told(kernel: KernelAnalysis, proposal: Proposal) -> KernelAnalysis:
    """The kernel with the evidence that is cited or would be shown; the rest was looked at for its sake only."""
    cited = {each for change in proposal.changes for each in change.evidence}
    shown = Lines().minimum_share
    kept = (each for each in kernel.evidence if each.id in cited or each.location is None or each.share >= shown)
    return kernel.model_copy(update={"evidence": tuple(kept)})
