"""Reading what was profiled again.

Two real reports of one kernel on an H200, before and after a change, stand for the two that a proof would have taken:
this is a test of reading and comparing. What the runner measured besides (times, other gates) is made up here.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from optimas_lsp.cli.schema import json_schema
from optimas_lsp.config import Settings
from optimas_lsp.insight.changes import Comparison
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.executors.outcome import GateOutcome, Outcome
from optimas_lsp.prove.report import Proof, as_text, conclusion
from optimas_lsp.prove.reprofile import Cited, judged, own_ceiling
from optimas_lsp.rewrite.proposal import Change, Proposal

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "tests" / "insight" / "reports"
ORIGINAL = ROOT / "samples" / "adjacent" / "profile.ncu-repz"
NAMES = {"baseline": "adjacent-before.ncu-repz", "candidate": "adjacent-after.ncu-repz"}

pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")


@pytest.fixture(scope="module")
def original(profile_cache: Path) -> tuple[Profile, Analysis]:
    """The report that a proposal was made from."""
    return load_analysis(ORIGINAL, Settings(), keep_all=True, cache_dir=profile_cache)


@pytest.fixture(scope="module")
def again(profile_cache: Path) -> dict[str, Analysis]:
    return {
        side: load_analysis(REPORTS / name, Settings(), keep_all=True, cache_dir=profile_cache)[1]
        for side, name in NAMES.items()
    }


@pytest.fixture
def job(tmp_path: Path, profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
    for side, name in NAMES.items():
        shutil.copy(REPORTS / name, tmp_path / f"{side}.ncu-rep")
    return tmp_path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def outcome(job: Path, *, speedup: float = 3.9, ceiling: float | None = None, **more: Any) -> Outcome:
    """What a runner would have sealed; with ``ceiling`` the gain is above it, so that *plausible* is open."""
    reports = {side: digest(job / f"{side}.ncu-rep") for side in NAMES}
    said = "both versions were profiled again on input default"
    gates = [
        GateOutcome(name="time", status="pass", sentence=f"kernel time {speedup} times shorter"),
        GateOutcome(name="plausible", status="pass", sentence="the gain is within the roofline"),
        GateOutcome(name="reprofile", status="pass", sentence=said, facts={"reports": reports}),
    ]
    if ceiling is not None:
        sentence = f"{speedup:.2f} times faster, though the roofline allows at most {ceiling:.2f}"
        facts = {"pending": "reprofile", "ceiling": ceiling}
        gates[1] = GateOutcome(name="plausible", status="skipped", sentence=sentence, facts=facts)
    found: dict[str, Any] = {
        "verdict": "proven" if ceiling is None else "not proven",
        "gates": tuple(gates),
        "timing": {"kernel_ns": {"speedup": speedup, "low": speedup * 0.99, "high": speedup * 1.01}},
        "pending": () if ceiling is None else ("plausible",),
        **more,
    }
    return Outcome.model_validate(found)


def cited(original: tuple[Profile, Analysis], *ids: str) -> Cited:
    profile, analysis = original
    [kernel] = [each for each in analysis.kernels if each.base_name == "adjacent_kernel"]
    change = Change(
        function="adjacent_kernel", original_lines=(1, 1), evidence=ids, transformation="striped-items", reason="x"
    )
    return Cited.by(Proposal(functions=(), changes=(change,)), profile, [kernel], [kernel.mangled])


def some_ids(original: tuple[Profile, Analysis]) -> list[str]:
    [kernel] = [each for each in original[1].kernels if each.base_name == "adjacent_kernel"]
    return [each.id for each in kernel.evidence if each.level != "note"]


def gate_of(found: Outcome, name: str) -> GateOutcome:
    gate = found.gate(name)
    assert gate is not None
    return gate


def test_each_cited_finding_is_followed_under_its_own_id(job: Path, original: tuple[Profile, Analysis]) -> None:
    ids = some_ids(original)[:3]
    found, comparison = judged(job, outcome(job), cited(original, *ids), Settings())
    assert isinstance(comparison, Comparison)
    assert comparison.kernels[0].speedup == pytest.approx(3.95, abs=0.1)
    gate = gate_of(found, "reprofile")
    assert gate.status == "pass"
    assert gate.sentence.startswith(
        "both versions were profiled again on input default; of 3 cited findings 3 moved as implied"
    )
    said = gate.facts["cited"]
    for each in ids:
        assert any(line.startswith(f"{each} ") and "as implied" in line and "µs a launch" in line for line in said)
    assert not any(line.split()[0] not in ids for line in said), "nothing that was not cited"
    assert found.verdict == "proven"


def test_the_comparison_holds_the_findings_that_could_be_cited_by_their_ids(
    job: Path, original: tuple[Profile, Analysis]
) -> None:
    ids = some_ids(original)
    _, comparison = judged(job, outcome(job), cited(original, ids[0]), Settings())
    assert comparison is not None
    assert {each.id for each in comparison.kernels[0].evidence} <= set(ids)
    places = {each.id: each.place for each in comparison.kernels[0].evidence if each.place}
    by_id = {each.id: each for each in original[1].kernels[0].evidence}
    for name, place in places.items():
        at = by_id[name].shown or by_id[name].location
        assert at is not None
        assert place == f"{at.file.rsplit('/', 1)[-1]}:{at.line}"


def test_a_cited_finding_that_measures_nothing_is_said_to_be_so(job: Path, original: tuple[Profile, Analysis]) -> None:
    found, _ = judged(job, outcome(job), cited(original, "XX-9"), Settings())
    gate = gate_of(found, "reprofile")
    assert gate.facts["cited"] == ["XX-9 implies nothing that the new profiles measure"]
    assert gate.sentence.endswith("of 1 cited finding 1 could not be measured")


def test_a_gain_above_the_originals_ceiling_is_settled_by_the_candidates_own_work(
    job: Path, original: tuple[Profile, Analysis], again: dict[str, Analysis]
) -> None:
    """What stopped sobol's candidates, which move fewer bytes than the original did."""
    waiting = outcome(job, ceiling=2.97)
    found, _ = judged(job, waiting, cited(original, some_ids(original)[0]), Settings())
    own, _why = own_ceiling(again["baseline"], again["candidate"], cited(original).proven)
    assert own is not None
    assert own == pytest.approx(7.28, abs=0.1)
    assert found.verdict == "proven"
    assert found.pending == ()
    gate = gate_of(found, "plausible")
    assert gate.status == "pass"
    assert gate.sentence == (
        f"3.90 times faster; the roofline allows 2.97 for the original's work and {own:.2f} for the candidate's, "
        "which its own profile shows"
    )
    assert conclusion(found).startswith("proven: ")


def test_a_gain_above_the_candidates_own_ceiling_goes_to_a_person(
    job: Path, original: tuple[Profile, Analysis]
) -> None:
    found, _ = judged(job, outcome(job, speedup=9.0, ceiling=2.97), cited(original), Settings())
    assert found.verdict == "rejected"
    assert gate_of(found, "plausible").status == "fail"
    assert conclusion(found).startswith("rejected by plausible: 9.00 times faster; the roofline allows 2.97")
    assert conclusion(found).endswith("a person must look")


def test_new_profiles_that_show_no_gain_do_not_make_one_plausible(
    job: Path, original: tuple[Profile, Analysis]
) -> None:
    """The same report twice: the candidate took as long as the original."""
    shutil.copy(job / "baseline.ncu-rep", job / "candidate.ncu-rep")
    found, _ = judged(job, outcome(job, ceiling=2.97), cited(original), Settings())
    assert found.verdict == "not proven"
    gate = gate_of(found, "plausible")
    assert gate.status == "skipped"
    assert gate.sentence.endswith("the new profiles do not show the candidate faster: a person must look")


def test_only_what_was_open_can_be_settled(job: Path, original: tuple[Profile, Analysis]) -> None:
    """Something else is missing, too (no sanitizer, no witness): the new profile proves nothing then."""
    waiting = outcome(job, ceiling=2.97, pending=())
    found, _ = judged(job, waiting, cited(original), Settings())
    assert found.verdict == "not proven"
    assert gate_of(found, "plausible").status == "skipped"


def test_a_report_that_was_changed_after_ncu_wrote_it_rejects(job: Path, original: tuple[Profile, Analysis]) -> None:
    sealed = outcome(job)
    shutil.copy(job / "baseline.ncu-rep", job / "candidate.ncu-rep")
    found, comparison = judged(job, sealed, cited(original), Settings())
    assert comparison is None
    assert found.verdict == "rejected"
    assert conclusion(found) == ("rejected by reprofile: the report of the candidate is not the one that ncu wrote")


def test_reports_that_cannot_be_read_leave_the_verdict(job: Path, original: tuple[Profile, Analysis]) -> None:
    (job / "candidate.ncu-rep").write_text("this is no report")
    found, comparison = judged(job, outcome(job), cited(original), Settings())
    assert comparison is None
    assert found.verdict == "proven"
    assert gate_of(found, "reprofile").status == "skipped"
    assert "the reports cannot be read: " in gate_of(found, "reprofile").sentence


def test_a_report_that_did_not_come_back_leaves_the_verdict(job: Path, original: tuple[Profile, Analysis]) -> None:
    sealed, waiting = outcome(job), outcome(job, ceiling=2.97)
    (job / "candidate.ncu-rep").unlink()
    found, _ = judged(job, sealed, cited(original), Settings())
    assert found.verdict == "proven"
    assert gate_of(found, "reprofile").sentence.endswith("but the report of the candidate did not come back")
    assert judged(job, waiting, cited(original), Settings())[0].verdict == "not proven"


def test_a_record_has_no_reports_to_read(job: Path, original: tuple[Profile, Analysis]) -> None:
    recorded = outcome(job, recorded="recorded on NVIDIA H200, 2026-12-01")
    shutil.rmtree(job)
    assert judged(job, recorded, cited(original), Settings()) == (recorded, None)


def test_without_a_reprofile_nothing_is_read(job: Path, original: tuple[Profile, Analysis]) -> None:
    skipped = GateOutcome(name="reprofile", status="skipped", sentence="no re-profile was asked for")
    plain = outcome(job).model_copy(update={"gates": (skipped,)})
    assert judged(job, plain, cited(original), Settings()) == (plain, None)


def changed(analysis: Analysis, **update: Any) -> Analysis:
    kernels: tuple[KernelAnalysis, ...] = tuple(each.model_copy(update=update) for each in analysis.kernels)
    return analysis.model_copy(update={"kernels": kernels})


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({"launches": 999}, "the new profiles do not hold the same launches of "),
        ({"roofline": None}, "the candidate's profile does not say what work adjacent_kernel did"),
        ({"gpu_time_ns": None}, "the candidate's profile does not say what work adjacent_kernel did"),
        ({"mangled": "other"}, "the new profiles do not hold the same launches of "),
    ],
)
def test_a_ceiling_that_is_not_known_is_none_with_the_reason(
    again: dict[str, Analysis], original: tuple[Profile, Analysis], update: dict[str, Any], words: str
) -> None:
    own, why = own_ceiling(again["baseline"], changed(again["candidate"], **update), cited(original).proven)
    assert own is None
    assert words in why


def test_the_text_about_a_proof_says_how_each_cited_finding_moved(
    job: Path, original: tuple[Profile, Analysis]
) -> None:
    name = some_ids(original)[0]
    found, comparison = judged(job, outcome(job), cited(original, name), Settings())
    assert comparison is not None
    proof = Proof(
        source="adjacent.cu",
        executor="local",
        verdict="proven",
        sentence=conclusion(found),
        gates=found.gates,
        not_checked=(),
        recorded=None,
        machine={},
        timing=found.timing,
        compared=comparison.model_dump(mode="json", by_alias=True),
        job="",
        diff="",
    )
    lines = as_text(proof).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("pass     reprofile: "))
    assert lines[at + 1].strip().startswith(f"{name} ")
    jsonschema.validate(proof.model_dump(mode="json"), json_schema("proof"))
