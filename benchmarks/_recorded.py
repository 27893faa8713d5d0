"""What the samples' candidates did on an H200 (``samples/*/outcomes.json``) as the outcomes of rewrites."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.config import Settings
from optimas_lsp.course import Program
from optimas_lsp.insight.changes import Comparison
from optimas_lsp.insight.compare import compare
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.prove.executors.outcome import parse_outcome
from optimas_lsp.prove.report import conclusion
from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.catalogue.looking import function_text
from optimas_lsp.rewrite.guardrails import examine
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting
from optimas_lsp.rewrite.prompt import Prompt, build_prompt
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score import scored
from optimas_lsp.score.places import Places, through
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText

PAIR = Path(__file__).parents[1] / "tests" / "insight" / "reports"
SAMPLES = Path(__file__).parents[1] / "samples"

STATES = {"proven": "proven", "rejected": "refuted"}


@dataclass(frozen=True)
class Recorded:
    """One recorded candidate as the outcome that a rewrite would have had; ``number`` is its place in the file."""

    sample: str
    number: int
    label: str
    rewriting: Rewriting
    original: str
    places: Places


def recorded(sample: str) -> Iterator[Recorded]:
    """Every candidate that was recorded for a sample, in the file's order."""
    folder = SAMPLES / sample
    for number, entry in enumerate(json.loads((folder / "outcomes.json").read_text("utf-8"))["outcomes"], 1):
        source = folder / entry["file"]
        subject, prompt = asked(source, entry["kernels"][0])
        rewriting = rewriting_of(entry, subject, prompt)
        original = source.read_text("utf-8")
        places = through(Marks(subject.profile, subject.files))
        yield Recorded(sample, number, entry["label"], rewriting, original, places)


def measured_pair() -> tuple[Rewriting, Comparison]:
    """A change of ``samples/adjacent`` that was profiled before and after on an H200, and what the profiles say.

    The change was made by hand, so its citations are ours: the findings about the loads and stores it moves.
    """
    before, after = (
        load_analysis(PAIR / f"adjacent-{name}.ncu-repz", Settings(), keep_all=True) for name in ("before", "after")
    )
    source = SAMPLES / "adjacent" / "adjacent.cu"
    program = Program.of(source)
    subject = program.subject(PAIR / "adjacent-before.ncu-repz", "adjacent_kernel")
    [text] = [each.text for each in after[0].files if each.text]
    kernel = function_text(parse(SourceText.of(text), "cuda"), "adjacent_kernel")
    change = {
        "function": "adjacent_kernel",
        "original_lines": [28, 30],
        "evidence": ["PC-1", "PC-2", "PC-3", "PC-4", "BL-1", "BL-2", "PT-1", "PT-2", "RL-1"],
        "transformation": "striped-items",
        "reason": "neighbouring threads work on neighbouring elements",
    }
    proposal = {"functions": [{"function": "adjacent_kernel", "text": kernel}], "changes": [change]}
    compared = compare(before, after)
    found = _answered(Proposal.model_validate(proposal), subject, build_prompt(subject), None, compared)
    words = f"a rewrite of {subject.kernel.base_name} passes the guardrails; it was profiled, and not proven"
    return found.model_copy(update={"backend": "manual", "sentence": words}), compared


def samples() -> tuple[str, ...]:
    """The samples with recorded candidates."""
    return tuple(sorted(path.parent.name for path in SAMPLES.glob("*/outcomes.json")))


@functools.cache
def asked(source: Path, kernel: str) -> tuple[Subject, Prompt]:
    """The subject and the prompt for a kernel of a sample by its demangled name."""
    [report] = [each for each in source.parent.glob("*.ncu-rep*") if each.name.partition(".")[0] == "profile"]
    program = Program.of(source)
    names = [each.name for each in program.open(report, program.settings).kernels]
    # The record has the names of another demangler: the longest common part tells the kernel.
    name = next((each for each in names if each == kernel), None) or next(n for n in names if _bare(n) == _bare(kernel))
    subject = program.subject(report, f"^{re.escape(name)}$")
    return subject, build_prompt(subject)


def _bare(name: str) -> str:
    return name.partition("(")[0].split()[-1]


def rewriting_of(entry: dict[str, Any], subject: Subject, prompt: Prompt) -> Rewriting:
    """The outcome of a rewrite whose only answer was ``entry``'s proposal and whose proof was ``entry``'s."""
    gpu = entry["machine"]["gpu"]["name"]
    outcome = parse_outcome(entry, where=subject.source.path, recorded=f"recorded on {gpu}, {entry['date']}")
    proof = Proof.model_validate(
        {
            "state": STATES.get(outcome.verdict or "", "not-proven"),
            "sentence": conclusion(outcome),
            "details": outcome.model_dump(mode="json"),
        }
    )
    return _answered(Proposal.model_validate(entry["proposal"]), subject, prompt, proof)


def _answered(
    proposal: Proposal, subject: Subject, prompt: Prompt, proof: Proof | None, compared: Comparison | None = None
) -> Rewriting:
    """The outcome of one answer under today's guardrails, built by nobody, with its scores."""
    data = subject.source.path.read_bytes()
    candidate = Candidate.of(data, proposal, path=subject.source.path)
    verdict = examine(
        subject.source.syntax.text,
        proposal,
        allowed=prompt.functions,
        evidence=prompt.evidence,
        headers=subject.headers,
    )
    refuted = proof is not None and proof.state == "refuted"
    sentence = "not proven" if proof is None else proof.sentence
    attempt = Attempt(
        number=1,
        reply=Reply(outcome=proposal, text=proposal.model_dump_json(by_alias=True)),
        verdict=verdict,
        diff=candidate.diff(subject.source.name),
        problem=sentence if refuted else "",
        stopped_at="prove" if refuted else None,
        proof=proof,
    )
    made = Rewriting(
        status="refuted" if refuted else "candidate",
        sentence=f"a rewrite of {subject.kernel.base_name} passes the guardrails and builds; {sentence}",
        source=str(subject.source.path),
        kernel=subject.kernel.name,
        backend="catalogue",
        prompt=prompt,
        attempts=(attempt,),
        proof=proof,
        edits=() if refuted else candidate.edits,
        edited=None if refuted else candidate.encoding.of(candidate.edited)[0].text,
        analysis=subject.kernel,
        device=subject.profile.device,
        tool=subject.profile.tool,
        report_sha256=subject.profile.report_sha256,
        base_sha256=hashlib.sha256(data).hexdigest(),
        compared=None if compared is None else compared.model_dump(mode="json"),
    )
    return scored(made, subject)
