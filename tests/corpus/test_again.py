"""The very change that was proven comes first the next time; the one that was refuted or refused comes last."""

from __future__ import annotations

from pathlib import Path

import pytest
from entries import attempt

from optimas_lsp.config import Settings
from optimas_lsp.corpus import Corpus, Query
from optimas_lsp.corpus.model import NewText
from optimas_lsp.course.program import Program
from optimas_lsp.profile.store import open_profile
from optimas_lsp.rewrite.backends.embedded import CatalogueBackend
from optimas_lsp.rewrite.catalogue.propose import RankedProposal
from optimas_lsp.rewrite.prompt_writer import Subject

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "adjacent"


@pytest.fixture(scope="module")
def subject(profile_cache: Path) -> Subject:
    program = Program.of(
        SAMPLE / "adjacent.cu",
        settings=Settings(),
        open_=lambda report, _settings: open_profile(report, cache_dir=profile_cache),
    )
    return program.subject(SAMPLE / "profile.ncu-repz", "")


def candidates(subject: Subject, corpus: Corpus) -> tuple[RankedProposal, ...]:
    backend = CatalogueBackend(subject, experience=corpus.experience(own=Query.of(subject)))
    backend._listed = frozenset(each.id for each in subject.kernel.evidence)
    return backend.candidates


def keep(corpus: Corpus, subject: Subject, one: RankedProposal, ending: str, **more: object) -> str:
    query = Query.of(subject)
    texts = tuple(NewText(function=each.function, text=each.text) for each in one.proposal.functions)
    entry = attempt(1, ending, code=query.code, functions=texts, **more)
    corpus.store.add([entry])
    return entry.key


def test_what_was_proven_for_this_code_comes_first_again(corpus: Corpus, subject: Subject) -> None:
    before = candidates(subject, corpus)
    keep(corpus, subject, before[5], "proven", speedup=1.2)
    assert candidates(subject, corpus)[0].label == before[5].label


def test_what_was_refuted_for_this_code_comes_last(corpus: Corpus, subject: Subject) -> None:
    first = candidates(subject, corpus)[0]
    keep(corpus, subject, first, "refuted")
    after = candidates(subject, corpus)
    assert after[0].label != first.label
    assert first.label not in [each.label for each in after[:-1]]


def test_a_persons_no_counts_before_the_proof(corpus: Corpus, subject: Subject) -> None:
    first = candidates(subject, corpus)[0]
    key = keep(corpus, subject, first, "proven", speedup=2.0)
    assert candidates(subject, corpus)[0].label == first.label
    assert corpus.reject(key, "nobody here can read this", "reverted") is None
    assert candidates(subject, corpus)[0].label != first.label


def test_other_code_is_not_this_code(corpus: Corpus, subject: Subject) -> None:
    before = candidates(subject, corpus)
    texts = tuple(NewText(function=each.function, text=each.text) for each in before[5].proposal.functions)
    corpus.store.add([attempt(1, "proven", code="__global__ void other() {}", functions=texts, speedup=1.2)])
    assert corpus.experience(own=Query.of(subject)).again == ()
