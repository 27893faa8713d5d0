"""Recorded outcomes of a program (``outcomes.json``) as scored outcomes of rewrites, from the report beside them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from optimas_lsp.config import FILE_NAME, from_toml, load_toml
from optimas_lsp.errors import OptimasError
from optimas_lsp.insight.changes import Comparison
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.prove.executors.credible import decided
from optimas_lsp.prove.executors.outcome import parse_outcome
from optimas_lsp.prove.executors.recorded import OUTCOME_SCHEMA
from optimas_lsp.prove.report import conclusion
from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.choice import choose
from optimas_lsp.rewrite.guardrails import examine
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting
from optimas_lsp.rewrite.prompt import Prompt, build_prompt
from optimas_lsp.rewrite.prompt_files import Files
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score.outcomes import scored
from optimas_lsp.score.places import Places, through
from optimas_lsp.source.paths import PathMapper

_STATES = {"proven": "proven", "rejected": "refuted"}


@dataclass(frozen=True, eq=False)
class Recorded:
    """One recorded candidate as the outcome that its rewrite would have had; ``number`` is its place in the file.

    ``original`` is the text that it changed, ``places`` how the report's lines lead there.
    """

    number: int
    rewriting: Rewriting
    original: str
    places: Places


def recorded_rewritings(outcomes: Path) -> Iterator[Recorded]:
    """Every candidate of the file, in its order; the report is the first that ``optimas.toml`` beside it names.

    The guardrails, the prompt and the scores are today's, the gates and times those that were recorded, on the input
    that decides for the program: what was only found too slow on another one is not proven, and no failure. Raises
    OptimasError for a file that is none, and what reading a report raises.
    """
    folder = outcomes.absolute().parent
    toml = folder / FILE_NAME
    settings = from_toml(toml)
    written = load_toml(toml)
    report, target = folder / written["profile"]["reports"][0], written["target"]
    subjects: dict[tuple[str, str], tuple[Subject, Prompt]] = {}
    for number, entry in enumerate(_entries(outcomes), 1):
        proposal = Proposal.model_validate(entry["proposal"])
        source = folder / str(entry["file"])
        mapper = PathMapper([folder], settings.path_maps)
        profile, analysis = load_analysis(report, settings, resolve=mapper.path_of)
        name = _kernel(entry, proposal, analysis.kernels)
        if (str(source), name) not in subjects:
            subject = choose(
                profile,
                settings,
                report=report,
                source=source,
                files=Files([folder]),
                resolve=mapper.path_of,
                pattern=f"^{re.escape(name)}$",
            )
            subjects[str(source), name] = subject, build_prompt(subject)
        subject, prompt = subjects[str(source), name]
        yield Recorded(
            number,
            answered(proposal, subject, prompt, proof=_proof(entry, source, target), text=str(entry["label"])),
            subject.source.syntax.text.text,
            through(Marks(subject.profile, subject.files)),
        )


def _entries(outcomes: Path) -> list[dict[str, Any]]:
    found: object = json.loads(outcomes.read_bytes())
    entries = cast("dict[str, Any]", found).get("outcomes") if isinstance(found, dict) else None
    if not isinstance(entries, list) or any(
        each.get("schema") != OUTCOME_SCHEMA for each in cast("list[Any]", entries)
    ):
        raise OptimasError("this is no file of recorded outcomes", where=outcomes, remedy=f"it holds {OUTCOME_SCHEMA}")
    return cast("list[dict[str, Any]]", entries)


def _kernel(entry: dict[str, Any], proposal: Proposal, kernels: tuple[KernelAnalysis, ...]) -> str:
    """Of the kernels that the change is about, the one whose evidence it cites most, then the costliest."""
    names = {str(each) for each in entry["kernels"]}
    cited = {each for change in proposal.changes for each in change.evidence}
    meant = [each for each in kernels if each.name in names]
    if not meant:
        raise OptimasError(f"none of {', '.join(sorted(names))} is in the report", remedy="record it with its report")
    return max(meant, key=lambda each: (len(cited & {item.id for item in each.evidence}), each.gpu_time_ns or 0.0)).name


def _proof(entry: dict[str, Any], source: Path, target: dict[str, Any]) -> Proof:
    """The recorded proof, by the time of the input that decides for its program."""
    label = f"recorded on {entry['machine']['gpu']['name']}, {entry['date']}"
    outcome = parse_outcome(entry, where=source, recorded=label)
    settings: dict[str, Any] = entry["how"]["settings"]
    outcome = decided(outcome, {"target": target, "ceiling_speedup": settings.get("ceiling")}, settings, source)
    return Proof.model_validate(
        {
            "state": _STATES.get(outcome.verdict or "", "not-proven"),
            "sentence": conclusion(outcome),
            "details": outcome.model_dump(mode="json"),
        }
    )


def answered(
    proposal: Proposal,
    subject: Subject,
    prompt: Prompt,
    *,
    proof: Proof | None = None,
    compared: Comparison | None = None,
    backend: str = "catalogue",
    text: str = "",
) -> Rewriting:
    """The scored outcome of one answer that was proven, or not, elsewhere; nothing is built here.

    ``text``: what the catalogue says of it.
    """
    data = subject.source.path.read_bytes()
    candidate = Candidate.of(data, proposal, path=subject.source.path)
    verdict = examine(
        subject.source.syntax.text,
        proposal,
        allowed=prompt.functions,
        evidence=prompt.evidence,
        headers=subject.headers,
        name=subject.source.path.name,
    )
    refuted = proof is not None and proof.state == "refuted"
    sentence = "it was not proven" if proof is None else proof.said
    attempt = Attempt(
        number=1,
        reply=Reply(outcome=proposal, text=text),
        verdict=verdict,
        diff=candidate.diff(subject.source.name),
        problem=sentence if refuted else "",
        stopped_at="prove" if refuted else None,
        proof=proof,
    )
    made = Rewriting(
        status="refuted" if refuted else "candidate",
        sentence=f"a rewrite of {subject.kernel.base_name}: {sentence}",
        source=str(subject.source.path),
        kernel=subject.kernel.name,
        backend=backend,
        prompt=prompt,
        attempts=(attempt,),
        chosen=None if refuted else 1,
        proof=proof,
        edits=() if refuted else candidate.edits,
        edited=None if refuted else candidate.encoding.of(candidate.edited)[0].text,
        diff="" if refuted else attempt.diff,
        analysis=subject.kernel,
        device=subject.profile.device,
        tool=subject.profile.tool,
        report_sha256=subject.profile.report_sha256,
        base_sha256=hashlib.sha256(data).hexdigest(),
        compared=None if compared is None else compared.model_dump(mode="json"),
    )
    return scored(made, subject)
