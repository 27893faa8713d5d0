"""The catalogue on the real samples: what it proposes is deterministic, cited, guarded, and computes the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from emulation import run

from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.catalogue import RankedProposal, entries, explain, propose, shortlist
from optimas_lsp.rewrite.compile import commands_for, compile_candidate, find_compiler
from optimas_lsp.rewrite.guardrails import examine
from optimas_lsp.rewrite.project_headers import project_headers

SAMPLES = Path(__file__).parents[3] / "samples"
INPUTS = {
    "accuracy": (["5", "1003"], ["3", "4100"]),
    "sobol": (["130", "24"], ["65", "5"]),
    "stream": (["3001"],),
    "shmem": (["2", "3"],),
    "adjacent": (["5003", "37"],),
    "lookup": (["60", "24", "60"],),
    "stencil": (["18", "2"],),
    "sweep": (["4352"],),
}
"""Small and odd sizes, so that every remainder loop and fallback is run."""

TOP = {
    "accuracy": {"batched-loads", "count-in-register"},
    "sobol": {"tiled-decomposition", "set-bits"},
    "stream": {"register-accumulation", "batched-loads", "contiguous-reduction"},
    "shmem": {"pad-shared"},
    "adjacent": {"striped-items"},
    "lookup": {"lookahead-search", "restrict-pointers"},
    "stencil": {"restrict-pointers", "unroll-loop"},
    "cub_adjacent": {"block-exchange"},
    "sweep": {"vector-run"},
}


def hot(analysis: Analysis) -> list[KernelAnalysis]:
    return [kernel for kernel in analysis.kernels if kernel.hot]


_KNOWN: dict[str, list[tuple[Path, KernelAnalysis, RankedProposal]]] = {}


def candidates(sample: str, analysis: Analysis) -> list[tuple[Path, KernelAnalysis, RankedProposal]]:
    """What is proposed for a sample's hot kernels; worked out once, since it is always the same."""
    if sample not in _KNOWN:
        _KNOWN[sample] = list(_candidates(sample, analysis))
    return _KNOWN[sample]


def _candidates(sample: str, analysis: Analysis) -> Iterator[tuple[Path, KernelAnalysis, RankedProposal]]:
    for kernel in hot(analysis):
        for file in sorted((SAMPLES / sample).glob("*.cu*")):
            for ranked in propose(file.read_text("utf-8"), file, kernel, capability=90):
                yield file, kernel, ranked


@pytest.mark.parametrize("sample", ["accuracy", "sobol"])
def test_a_line_in_a_label_is_that_of_the_file_also_after_an_earlier_change(
    sample: str, analysis: Callable[[str], Analysis]
) -> None:
    named = 0
    for file, _, ranked in candidates(sample, analysis(sample)):
        lines = file.read_text("utf-8").split("\n")
        for step in ranked.steps:
            for line in re.findall(r"times, line (\d+)\)", step):
                assert re.search(r"\b(for|while)\b", lines[int(line) - 1]), f"{step}: {lines[int(line) - 1]}"
                named += len(ranked.steps) > 1
    assert named


@pytest.mark.parametrize("sample", TOP)
def test_every_proposal_passes_the_guardrails_and_cites_what_exists(
    sample: str, analysis: Callable[[str], Analysis]
) -> None:
    found = candidates(sample, analysis(sample))
    assert found
    for file, kernel, ranked in found:
        text = file.read_text("utf-8")
        evidence = {item.id for item in kernel.evidence}
        verdict = examine(text, ranked.proposal, evidence=evidence, headers=project_headers(file, text))
        assert verdict.accepted, (ranked.label, verdict.failures())
        assert all(change.evidence and change.expects and change.reason for change in ranked.proposal.changes)


@pytest.mark.parametrize("sample", TOP)
def test_the_best_proposals_are_those_the_profile_asks_for(sample: str, analysis: Callable[[str], Analysis]) -> None:
    found = sorted(candidates(sample, analysis(sample)), key=lambda item: -item[2].score)
    best = shortlist([ranked for _, _, ranked in found], 8)
    assert {name for ranked in best[:3] for name in ranked.transformations} >= TOP[sample]


def test_proposing_twice_gives_the_same(analysis: Callable[[str], Analysis]) -> None:
    again = [ranked for _, _, ranked in _candidates("sobol", analysis("sobol"))]
    assert again == [ranked for _, _, ranked in candidates("sobol", analysis("sobol"))]


def test_a_shortlist_prefers_candidates_that_differ(analysis: Callable[[str], Analysis]) -> None:
    ranked = [each for _, _, each in candidates("sobol", analysis("sobol"))]
    chosen = shortlist(ranked, 8)
    assert chosen[0] == ranked[0]
    assert len({each.steps[0] for each in chosen}) > len({each.steps[0] for each in ranked[:8]})


def test_every_transformation_says_why_it_does_not_apply(analysis: Callable[[str], Analysis]) -> None:
    kernel = hot(analysis("sobol"))[0]
    source = SAMPLES / "sobol" / "sobol.cu"
    said = explain(source.read_text("utf-8"), source, kernel, capability=90)
    assert {each.transformation for each in said} == {entry.name for entry in entries()}
    assert all(each.reason and "\n" not in each.reason for each in said)
    assert all(each.evidence and each.variants for each in said if each.applies)
    assert {each.transformation for each in said if each.applies} >= {"tiled-decomposition", "set-bits", "unroll-loop"}


def test_a_header_is_rewritten_where_the_evidence_lies_in_it(analysis: Callable[[str], Analysis]) -> None:
    kernel = hot(analysis("lookup"))[0]
    header = SAMPLES / "lookup" / "grid.cuh"
    ranked = propose(header.read_text("utf-8"), header, kernel, capability=90)
    assert [each.transformations for each in ranked] == [("lookahead-search",)]
    assert ranked[0].proposal.changes[0].function == "find_interval"


def _texts(sample: str) -> dict[str, str]:
    return {file.name: file.read_text("utf-8") for file in (SAMPLES / sample).glob("*.cu*")}


def _same(sample: str, chosen: list[tuple[Path, RankedProposal]], folder: Path) -> None:
    files, main = _texts(sample), f"{sample}.cu"
    for number, arguments in enumerate(INPUTS[sample]):
        expected = run(files, main, arguments, folder / f"original-{number}")
        assert "self-check: passed" in expected
        for file, ranked in chosen:
            edited = Candidate.of(file.read_bytes(), ranked.proposal).edited.decode()
            found = run({**files, file.name: edited}, main, arguments, folder / "candidate")
            assert found == expected, ranked.label


@pytest.mark.parametrize("sample", ["sobol", "shmem"])
def test_the_best_candidate_computes_the_same_bits_on_the_processor(
    sample: str, analysis: Callable[[str], Analysis], tmp_path: Path
) -> None:
    found = sorted(candidates(sample, analysis(sample)), key=lambda item: -item[2].score)
    _same(sample, [(file, ranked) for file, _, ranked in found[:1]], tmp_path)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sample", INPUTS)
def test_every_candidate_computes_the_same_bits_on_the_processor(
    sample: str, analysis: Callable[[str], Analysis], tmp_path: Path
) -> None:
    _same(sample, [(file, ranked) for file, _, ranked in candidates(sample, analysis(sample))], tmp_path)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sample", TOP)
def test_every_candidate_compiles(
    sample: str, analysis: Callable[[str], Analysis], compiling: dict[str, object], tmp_path: Path
) -> None:
    if find_compiler() is None:
        pytest.skip("nvcc is not installed")
    folder = SAMPLES / sample
    main = folder / f"{sample}.cu"
    build = [["nvcc", "-O3", "-arch=sm_90", "-lineinfo", "-cubin", "-o", "program.cubin", main.name]]
    commands = commands_for(main, folder, build=build)
    seen: set[tuple[str, str]] = set()
    for file, _, ranked in candidates(sample, analysis(sample)):
        candidate = Candidate.of(file.read_bytes(), ranked.proposal)
        if (file.name, candidate.sha256) in seen:
            continue
        seen.add((file.name, candidate.sha256))
        done = compile_candidate(folder, {file.name: candidate.edited}, commands, scratch=tmp_path, **compiling)  # type: ignore[arg-type]
        assert done.good, (ranked.label, done.relevant)
