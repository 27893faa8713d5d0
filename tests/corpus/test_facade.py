"""What other rooms see of the corpus: it keeps a real rewrite, gives past cases, experience and sentences back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from entries import attempt
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.config import Corpus as CorpusSettings
from optimas_lsp.corpus import Context, Corpus, Query
from optimas_lsp.corpus.explain import sentences
from optimas_lsp.corpus.export import merge
from optimas_lsp.course import Course, Request
from optimas_lsp.insight.evidence import Evidence
from optimas_lsp.rewrite.outcome import Rewriting

DATASET = Path(__file__).resolve().parents[2] / "samples" / "corpus"
HOT = Evidence(id="PC-1", source="pc", rule="long_scoreboard", kernel="k", location=None)


def test_a_real_rewrite_is_kept_once_with_its_evidence_code_change_and_origin(
    corpus: Corpus, rewriting: Rewriting
) -> None:
    assert corpus.keep(rewriting) is None
    assert corpus.keep(rewriting) is None
    rows = corpus.store.rows()
    assert len(rows) == len(rewriting.attempts) >= 1
    entry = rows[0].entry
    assert entry.ending == "not-proven"
    assert entry.kernel == rewriting.kernel
    assert entry.file == "adjacent.cu"
    assert entry.code.startswith("__global__ void adjacent_kernel")
    assert entry.patch.startswith("--- a/adjacent.cu")
    assert entry.steps
    assert rewriting.analysis is not None
    assert [each.id for each in entry.findings] == [each.id for each in rewriting.analysis.evidence]
    assert entry.device.name == "NVIDIA H200"
    assert entry.device.generation == "sm_9"
    assert entry.standing is not None
    assert entry.standing.verdict
    assert (entry.author.backend, entry.author.prompt) == ("catalogue", "optimas.prompt/1")
    assert entry.origin.report_sha256 == rewriting.report_sha256
    assert entry.key == entry.digest()
    assert corpus.keys_of(Rewriting.model_validate_json(rewriting.model_dump_json(by_alias=True))) == (entry.key,)


def test_an_offered_edit_can_be_refused_by_the_rewrite_that_offered_it(corpus: Corpus, rewriting: Rewriting) -> None:
    early = corpus.refuse(rewriting, "too early")
    assert early is not None
    assert early.code == "corpus-unknown"
    corpus.keep(rewriting, context=Context(project="ours", licence="MIT"))
    assert corpus.refuse(rewriting, "hard to read", "reverted") is None
    (row,) = corpus.store.rows()
    assert [(each.kind, each.reason) for each in row.noes] == [("reverted", "hard to read")]
    assert row.entry.origin.licence == "MIT"
    rounds = rewriting.model_copy(update={"rounds": (rewriting,)})
    assert corpus.refuse(rounds, "again") is None
    nothing = corpus.refuse(rewriting.model_copy(update={"chosen": None}), "nothing")
    assert nothing is not None
    assert nothing.code == "corpus-unknown"


def test_no_corpus_gives_nothing_and_no_note(corpus: Corpus) -> None:
    assert corpus.past_cases(Query(rules={"long_scoreboard": 0.8})) == ()
    assert corpus.experience().records == ()
    assert sentences(HOT, corpus) == ()
    assert corpus.notes == []
    assert not corpus.store.folder.exists()


def test_a_corpus_that_is_switched_off_keeps_nothing(rewriting: Rewriting) -> None:
    corpus = Corpus.of_user(CorpusSettings(enable=False))
    assert corpus.keep(rewriting) is None
    assert not corpus.store.folder.exists()


def test_experience_counts_tries_and_medians_by_rule_and_overall(corpus: Corpus) -> None:
    entries = [
        attempt(1, "proven", speedup=1.2),
        attempt(2, "proven", speedup=1.8),
        attempt(3, "proven", speedup=1.4),
        attempt(4, "refuted"),
        attempt(5, "not-proven"),
        attempt(6, "refuted", rule="wait"),
    ]
    assert corpus.keep_entries(lambda: entries) is None
    known = corpus.experience(("long_scoreboard",))
    found = known.of("unroll-loop", ("long_scoreboard",))
    assert found is not None
    assert (found.tries, found.proven, found.effect) == (4, 3, pytest.approx(1.4))
    overall = known.of("unroll-loop")
    assert overall is not None
    assert (overall.tries, overall.proven) == (5, 3)
    assert known.factor("unroll-loop", ("long_scoreboard",)) > 1
    assert corpus.experience(("wait",)).factor("unroll-loop", ("wait",)) < 1
    assert known.factor("never-tried", ("long_scoreboard",)) == 1


def test_a_no_makes_a_proven_attempt_count_as_failed(corpus: Corpus) -> None:
    entries = [attempt(number, "proven", speedup=1.3) for number in range(4)]
    corpus.keep_entries(lambda: entries)
    before = corpus.experience().factor("unroll-loop", ("long_scoreboard",))
    for entry in entries[:3]:
        assert corpus.reject(entry.key[:12], "unreadable in review", "reverted") is None
    after = corpus.experience().factor("unroll-loop", ("long_scoreboard",))
    assert after < 1 < before


@pytest.mark.parametrize("chosen", ["abcdef012345", "zz", "'; DROP TABLE attempts"])
def test_an_unknown_id_is_a_note(corpus: Corpus, chosen: str) -> None:
    note = corpus.reject(chosen, "no")
    assert note is not None
    assert note.code == "corpus-unknown"


def test_explaining_tells_what_held_and_what_failed(corpus: Corpus) -> None:
    entries = [
        attempt(1, "proven", speedup=1.5),
        attempt(2, "refuted"),
        attempt(3, "refuted", transformation="pad-shared"),
        attempt(4, "refused", transformation="pad-shared"),
    ]
    corpus.keep_entries(lambda: entries)
    assert sentences(HOT, corpus) == (
        "unroll-loop was tried on long_scoreboard before and proven 1 of 2 times, kernel time 1.50x shorter (median)",
        "pad-shared failed all 2 times it was tried on long_scoreboard",
    )
    assert sentences(HOT.model_copy(update={"rule": "barrier"}), corpus) == ()


def course(program: Path, backend: str, **more: Any) -> Course:
    settings = {
        "rewrite": {"backend": backend, "model": "any", "base_url": more.pop("url", "")},
        "corpus": {"cases": 4},
    }
    return Course.of(
        Request(
            source=program / "adjacent.cu",
            profile=program / "profile.ncu-repz",
            settings=settings,
            build=False,
            **more,
        )
    )


def test_past_cases_stand_in_the_prompt_of_a_model_with_their_figures_and_warnings(
    corpus: Corpus, program: Path
) -> None:
    merge(corpus.store, DATASET)
    prompt = course(program, "ollama").prompt.user
    assert "Past cases with like evidence" in prompt
    assert "kernel time 3.92x shorter (95 % interval 3.91 to 3.92) on NVIDIA H200" in prompt
    assert "warning, it failed: refuted" in prompt
    assert "+++ b/adjacent.cu" in prompt


def test_a_study_asks_without_what_was_tried_on_its_own_kernel_or_without_anything(
    corpus: Corpus, program: Path
) -> None:
    merge(corpus.store, DATASET)
    others = course(program, "ollama", past="others").prompt.user
    assert "Past cases with like evidence" in others
    assert "+++ b/adjacent.cu" not in others
    assert "3.92x" not in others
    assert "Past cases" not in course(program, "ollama", past="ignore").prompt.user
    nothing = Query.of(course(program, "ollama").subject)
    known = corpus.experience(without=nothing)
    assert known.of("striped-items") is None
    assert corpus.experience().of("striped-items") is not None


def test_code_of_other_programs_is_not_sent_to_a_service(corpus: Corpus, program: Path) -> None:
    query = Query.of(course(program, "ollama").subject)
    other = attempt(1, "proven", patch="--- a/secret.cu\n+++ b/secret.cu\n@@ -1 +1 @@\n-theirs();\n+ours();\n")
    findings = tuple(
        other.findings[0].model_copy(update={"rule": rule, "share": share}) for rule, share in query.rules.items()
    )
    corpus.store.add([other.model_copy(update={"findings": findings})])
    assert "ours();" in course(program, "ollama").prompt.user
    shown = CliRunner().invoke(
        app, ["prompt", str(program / "adjacent.cu"), "--profile", str(program / "profile.ncu-repz")]
    )
    assert "Past cases with like evidence" in shown.output
    assert "ours();" not in shown.output


def test_the_catalogue_of_a_course_is_ranked_by_experience(corpus: Corpus, program: Path) -> None:
    first = course(program, "catalogue")
    best = _candidates(first)[0]
    corpus.store.add(
        [
            attempt(number, "refuted", transformation=best, rule=rule)
            for number, rule in enumerate(["long_scoreboard", "lg_throttle"] * 8)
        ]
    )
    assert _candidates(course(program, "catalogue"))[0] != best
    assert _candidates(course(program, "catalogue", past="ignore"))[0] == best


def _candidates(of: Course) -> list[str]:
    backend: Any = of.backend
    backend._listed = frozenset(of.prompt.evidence)
    return [each.transformations[0] for each in backend.candidates]
