"""Past attempts are found by evidence, code and device; a study never sees its own kernel; failures are warnings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entries import H200, attempt, kernel_text, real_kernels, rewritten

from optimas_lsp.corpus import Corpus, Query
from optimas_lsp.corpus.index import Index
from optimas_lsp.corpus.model import Device, Entry, Finding
from optimas_lsp.corpus.retrieve import Searcher
from optimas_lsp.corpus.shape import HASHES, NEAR, jaccard, likeness, runs, sketch_of
from optimas_lsp.corpus.vectors import vectors_of

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FAMILIES, VARIANTS = 60, 6
RULES = ("long_scoreboard", "lg_throttle", "mio_throttle", "barrier", "wait", "math_pipe_throttle", "short_scoreboard",
         "bank-conflicts", "uncoalesced-global", "memory-bound", "latency-bound", "low-occupancy")  # fmt: skip


def evidence(family: int, variant: int) -> tuple[Finding, ...]:
    """A family's mix of evidence; variants differ by a few percent, as launches do."""
    chance = random.Random(family % 20)  # three families share each mix
    rules = chance.sample(RULES, 4)
    shares = [chance.uniform(0.05, 0.6) for _ in rules]
    noise = random.Random(1000 * family + variant)
    return tuple(
        Finding(id=f"PC-{at}", source="pc", rule=rule, share=min(1.0, share * noise.uniform(0.9, 1.1)), samples=1000)
        for at, (rule, share) in enumerate(zip(rules, shares, strict=True), 1)
    )


def known(family: int, variant: int, ending: str = "proven", **more: Any) -> Entry:
    return attempt(
        1000 * family + variant,
        ending,
        code=kernel_text(family, variant),
        findings=evidence(family, variant),
        mangled=f"_Z{family}_{variant}",
        kernel=f"kernel{family}_{variant}",
        **more,
    )


def test_recall_at_five_on_known_families_is_at_least_nine_in_ten(corpus: Corpus) -> None:
    entries = [known(family, variant) for family in range(FAMILIES) for variant in range(1, VARIANTS)]
    corpus.store.add(entries)
    searcher = Searcher(corpus.store)
    family_of = {entry.key: entry.number // 1000 for entry in entries}
    recalls = []
    for family in range(FAMILIES):
        hits = searcher.nearest(Query.of_entry(known(family, 0)), 5)
        recalls.append(sum(family_of[hit.key] == family for hit in hits) / min(5, VARIANTS - 1))
    assert np.mean(recalls) >= 0.9


def test_recall_on_real_kernels_that_somebody_else_wrote_again_is_at_least_nine_in_ten(corpus: Corpus) -> None:
    kernels = list(real_kernels(SAMPLES).values())
    assert len(kernels) > 40
    entries = [
        attempt(100 * at + variant, "proven", code=rewritten(code, 100 * at + variant), findings=evidence(at, variant))
        for at, code in enumerate(kernels)
        for variant in range(1, 6)
    ]
    corpus.store.add(entries)
    searcher = Searcher(corpus.store)
    of = {entry.key: entry.number // 100 for entry in entries}
    recalls = []
    for at, code in enumerate(kernels):
        hits = searcher.nearest(Query.of_entry(attempt(0, code=code, findings=evidence(at, 0))), 5)
        recalls.append(sum(of[hit.key] == at for hit in hits) / 5)
    assert np.mean(recalls) >= 0.9


def test_evidence_alone_and_code_alone_also_lead_to_the_family(corpus: Corpus) -> None:
    entries = [known(family, variant) for family in range(20) for variant in range(1, VARIANTS)]
    corpus.store.add(entries)
    searcher = Searcher(corpus.store)
    for family in range(20):
        whole = Query.of_entry(known(family, 0))
        for query in (Query(rules=whole.rules), Query(rules={}, code=whole.code)):
            (best, *_) = searcher.nearest(query, 1)
            found = corpus.store.find(best.key).entry
            assert found.number // 1000 == family


def test_a_study_never_sees_its_own_kernel_or_a_copy_of_it_unless_allowed(corpus: Corpus) -> None:
    own = [known(1, variant) for variant in range(6)]
    renamed = attempt(77, "proven", code=kernel_text(1, 0), findings=evidence(1, 0), mangled="_Zother", kernel="other")
    others = [known(family, 0) for family in range(2, 30)]
    corpus.store.add([*own, renamed, *others])
    query = Query.of_entry(own[0])
    ids = {f"attempt {entry.key[:12]}" for entry in (*own, renamed)}
    assert {case.id for case in corpus.past_cases(query, most=5)} & ids
    assert {case.id for case in corpus.past_cases(query, most=5, study=True, same_kernel=True)} & ids
    unlike = corpus.past_cases(query, most=5, study=True)
    assert not {case.id for case in unlike} & ids
    with_own = corpus.experience().of("unroll-loop")
    without = corpus.experience(without=query).of("unroll-loop")
    assert with_own is not None
    assert without is not None
    assert with_own.tries - without.tries == len(own) + 1


def test_failures_come_as_warnings_beside_what_was_proven(corpus: Corpus) -> None:
    proven = [known(1, variant, transformation=f"step-{variant}") for variant in range(6)]
    failed = attempt(
        900, "refuted", code=kernel_text(1, 3), findings=evidence(1, 3), mangled="_Zx", transformation="pad-shared",
        speedup=0.97, sentence="rejected: kernel time 0.97 times shorter",
    )  # fmt: skip
    corpus.store.add([*proven, failed])
    cases = corpus.past_cases(Query.of_entry(known(1, 0)), most=3)
    assert len(cases) == 3
    (warning,) = [case for case in cases if case.outcome.startswith("warning")]
    assert warning.transformation == "pad-shared"
    assert "0.97x" in warning.outcome
    assert "95 % interval" in warning.outcome
    assert all(case.outcome.startswith("proven, kernel time 1.50x shorter") for case in cases if case is not warning)
    assert all(case.code.startswith("--- a/kernel.cu") for case in cases)


def test_a_reverted_proof_is_a_warning_with_its_reason(corpus: Corpus) -> None:
    entry = known(1, 0)
    corpus.store.add([entry])
    corpus.reject(entry.key, "breaks our debugger", "reverted")
    (case,) = corpus.past_cases(Query.of_entry(entry))
    assert case.outcome.startswith("warning")
    assert "a person reverted it (breaks our debugger)" in case.outcome


def test_no_code_of_other_programs_is_told_where_it_would_leave_the_machine(corpus: Corpus) -> None:
    own = known(1, 0, transformation="mine")
    lines = kernel_text(1, 0).split("\n")
    near = "\n".join([*lines[:-4], *kernel_text(50, 0).split("\n")[-3:]])  # a near-duplicate in another program
    assert NEAR < jaccard(runs(near), runs(kernel_text(1, 0))) < 0.75
    kin = known(1, 2, transformation="kin").model_copy(update={"code": near})
    namesake = known(21, 0, "refuted").model_copy(update={"mangled": "_Z1_0"})
    other = known(41, 1, "refuted", sentence="rejected: secret_name differs", transformation="other")
    corpus.store.add([own, kin, namesake, other])
    cases = corpus.past_cases(Query.of_entry(known(1, 0)), most=4, leaves=True)
    assert len(cases) == 4
    assert [case.id for case in cases if case.code] == [f"attempt {own.key[:12]}"]
    assert not any("secret_name" in case.outcome for case in cases)


def test_the_same_thing_done_to_like_kernels_is_told_once(corpus: Corpus) -> None:
    corpus.store.add([known(1, variant) for variant in range(6)])
    assert len(corpus.past_cases(Query.of_entry(known(1, 0)), most=5)) == 1


def test_what_nobody_judged_is_not_told(corpus: Corpus) -> None:
    corpus.store.add([known(1, 1, "not-proven"), known(1, 2, "unusable"), known(1, 3, "nothing")])
    assert corpus.past_cases(Query.of_entry(known(1, 0))) == ()


def test_the_index_grows_and_shrinks_with_the_store_and_only_new_rows_are_computed(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []

    def counting(codes, rules, generations):
        computed.append(len(codes))
        return vectors_of(codes, rules, generations)

    monkeypatch.setattr("optimas_lsp.corpus.index.vectors_of", counting)
    corpus.store.add([known(family, 0) for family in range(40)])
    assert len(Index.of(corpus.store, tmp_path).keys) == 40
    (file,) = tmp_path.glob("corpus-*.npz")
    assert len(Index.of(corpus.store, tmp_path).keys) == 40
    assert computed == [40]
    corpus.store.add([known(family, 0) for family in range(40, 45)])
    grown = Index.of(corpus.store, tmp_path)
    assert computed == [40, 5]
    assert np.array_equal(grown.keys, np.sort(grown.keys))
    corpus.store.database.write(lambda base: base.execute("DELETE FROM attempts WHERE mangled < '_Z3'").rowcount)
    smaller = Index.of(corpus.store, tmp_path)
    assert 0 < len(smaller.keys) < 45
    fresh = Index.of(corpus.store, tmp_path / "other")
    assert np.array_equal(smaller.keys, fresh.keys)
    assert np.allclose(smaller.vectors, fresh.vectors)
    for damage in (b"", b"PK\x03\x04", file.read_bytes()[:-3000]):
        file.write_bytes(damage)
        assert np.array_equal(Index.of(corpus.store, tmp_path).keys, fresh.keys)


def test_an_index_that_cannot_be_written_is_made_again(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    corpus.store.add([known(1, 0)])
    assert len(Index.of(corpus.store, tmp_path / "a file").keys) == 1


def test_an_attempt_is_wholly_like_itself_and_less_like_one_on_another_gpu(corpus: Corpus) -> None:
    corpus.store.add([known(1, 0), known(1, 0, device=Device(name="RTX", compute_capability=(12, 0)))])
    first, second = Searcher(corpus.store).nearest(Query.of_entry(known(1, 0)), 2)
    assert corpus.store.find(first.key).entry.device == H200
    assert first.likeness == pytest.approx(1, abs=1e-4)
    assert second.likeness == pytest.approx(0.93, abs=1e-3)


def test_sketches_estimate_the_jaccard_index() -> None:
    for family in range(30):
        one, other = kernel_text(family, 0), kernel_text(family, 1 + family % 4)
        actual = jaccard(runs(one), runs(other))
        (estimate,) = likeness(sketch_of(one), [sketch_of(other)])
        assert estimate == pytest.approx(actual, abs=4 * 0.5 / HASHES**0.5)
    apart = [jaccard(runs(kernel_text(1)), runs(kernel_text(family))) for family in range(2, 40)]
    assert max(apart) < NEAR


def test_shape_does_not_see_names_numbers_comments_and_layout() -> None:
    code = "__global__ void k(float* a, int n) { if (threadIdx.x < 32) a[n] = 1.5f; /* fast */ }"
    same = (
        "__global__ void\nother(float *all, int count)\n{\n  if (threadIdx.x < 64)  // slow\n    all[count] = 2.0f;\n}"
    )
    assert runs(code) == runs(same)
    assert runs(code) != runs(code.replace("threadIdx", "blockIdx"))
    assert runs("") == frozenset()
    assert sketch_of("") == b""
    assert list(likeness(b"", [sketch_of(code)])) == [0.0]
    assert list(likeness(sketch_of(code), [b"", sketch_of(code)])) == [0.0, 1.0]
