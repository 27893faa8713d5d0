"""Pack proof jobs of the catalogue's best candidates for every CUDA sample: python pack.py JOBS [SAMPLE …].

A job is called RANK-SAMPLE-NN, so that in the order of names every sample's best candidates come first;
``index.json`` says what each holds. ``fight.py`` of the arena proves them on a machine with a GPU.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.prove.bundle import pack
from optimas_lsp.prove.target import Target, parse_target
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.catalogue import RankedProposal, propose, shortlist
from optimas_lsp.rewrite.guardrails import Allowance, examine
from optimas_lsp.rewrite.project_headers import project_headers

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
ALL = ("accuracy", "sobol", "stream", "shmem", "adjacent", "lookup", "stencil", "cub_adjacent", "sweep")
MOST = 8
"""Candidates of one sample."""

ALLOWED: tuple[Allowance, ...] = ("launch-bounds",)
TIMING = {"min_pairs": 5, "max_pairs": 9, "budget_s": 15}


def candidates(sample: str) -> Iterator[tuple[Path, list[KernelAnalysis], RankedProposal, Candidate]]:
    """The best candidates of all hot kernels of a sample, kernels in turn; two instances of a template are one."""
    folder = SAMPLES / sample
    report = sorted(folder.glob("profile.ncu-rep*"))[0]
    profile, analysis = load_analysis(report, Settings())
    major, minor = profile.device.compute_capability
    hot = [kernel for kernel in analysis.kernels if kernel.hot]
    groups: dict[str, list[KernelAnalysis]] = {}
    for kernel in hot:
        groups.setdefault(kernel.name.partition("<")[0], []).append(kernel)
    queues: list[list[tuple[Path, list[KernelAnalysis], RankedProposal]]] = []
    for group in groups.values():
        found: list[tuple[Path, list[KernelAnalysis], RankedProposal]] = []
        for file in sorted(folder.glob("*.cu*")):
            text = file.read_text("utf-8")
            ranked = propose(text, file, group[0], capability=10 * major + minor)
            found += [(file, group, each) for each in shortlist(ranked, MOST)]
        found.sort(key=lambda item: -item[2].score)
        queues.append(found)
    last = [item for group in groups.values() for item in _permitted(folder, group, 10 * major + minor)]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*queues))
    seen: set[tuple[str, str]] = set()
    for item in (*in_turn, *last):
        if item is None:
            continue
        file, group, ranked = item
        candidate = Candidate.of(file.read_bytes(), ranked.proposal, path=file)
        if (file.name, candidate.sha256) not in seen:
            seen.add((file.name, candidate.sha256))
            yield file, group, ranked, candidate


def _permitted(
    folder: Path, group: list[KernelAnalysis], capability: int
) -> list[tuple[Path, list[KernelAnalysis], RankedProposal]]:
    """Candidates with launch bounds, for where the others leave room: they need the user's permission."""
    found: list[tuple[Path, list[KernelAnalysis], RankedProposal]] = []
    for file in sorted(folder.glob("*.cu")):
        ranked = propose(file.read_text("utf-8"), file, group[0], capability=capability, allow=ALLOWED)
        bounded = [each for each in ranked if "launch-bounds" in each.transformations]
        found += [(file, group, each) for each in shortlist(bounded, 4)]
    return found


def target_of(sample: str) -> Target:
    """The sample's target with what this measurement fixes: timed on the default input, sanitized on the small one."""
    table = tomllib.loads((SAMPLES / sample / "optimas.toml").read_text("utf-8"))["target"]
    fixed = {"time_input": "default", "sanitize_input": "small"}
    return parse_target({**table, **fixed}, where=f"samples/{sample}/optimas.toml")


def verdict(file: Path, group: list[KernelAnalysis], ranked: RankedProposal) -> dict[str, str]:
    """What the guardrails say, as a job's static gate."""
    text = file.read_text("utf-8")
    known = {item.id for kernel in group for item in kernel.evidence}
    headers = project_headers(file, text)
    found = examine(text, ranked.proposal, evidence=known, headers=headers, allow=ALLOWED)
    why = "; ".join(f"{rule.id}: {rule.message}" for rule in found.failures())
    sentence = why or "every guardrail passed" + (f", flagged: {', '.join(found.flags)}" if found.flags else "")
    return {"status": "pass" if found.accepted else "fail", "sentence": sentence}


def main() -> None:
    """Write the jobs and an index of them."""
    destination = Path(sys.argv[1])
    index: dict[str, object] = {}
    for sample in sys.argv[2:] or ALL:
        target = target_of(sample)
        with tempfile.TemporaryDirectory() as folder:
            for file in (*SAMPLES.joinpath(sample).glob("*.cu*"), SAMPLES / sample / "optimas.toml"):
                shutil.copy(file, folder)
            for number, (file, group, ranked, candidate) in enumerate(candidates(sample)):
                if number == MOST:
                    break
                name = f"{number + 1}-{sample}"
                ceiling = group[0].roofline.ceiling if group[0].roofline is not None else None
                pack(
                    Path(folder),
                    target,
                    {file.name: candidate.edited},
                    destination / name,
                    kernels=[kernel.mangled for kernel in group],
                    static=verdict(file, group, ranked),
                    ceiling_speedup=None if ceiling is None else ceiling.plausible_speedup,
                    options={"timing": TIMING},
                )
                index[name] = {
                    "sample": sample,
                    "file": file.name,
                    "kernels": [kernel.name for kernel in group],
                    "label": ranked.label,
                    "permission": "launch-bounds" if "launch-bounds" in ranked.transformations else None,
                    "score": ranked.score,
                    "work_speedup": None if ceiling is None else ceiling.work_speedup,
                    "diff": candidate.diff(file.name),
                    "proposal": ranked.proposal.model_dump(mode="json", by_alias=True),
                }
    (destination / "index.json").write_text(json.dumps(index, indent=1), "utf-8")


if __name__ == "__main__":
    main()
