"""What a hostile or broken server sends ends as a typed result, soon, in little memory, and without the key."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc

import pytest
from dialects import DIALECTS, REQUEST, SECRET, TEXT, Dialect
from wire_server import Answer, serving

from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.backends.wire import LARGEST_ANSWER
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.proposal import Proposal

EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
MIB = 1024 * 1024


def ask(dialect: Dialect, *answers: Answer) -> tuple[Reply, int, list[float]]:
    """The reply, how often the server was asked, and the waits between requests."""
    waits: list[float] = []
    with serving(*answers) as server:
        reply = asyncio.run(dialect.make(server.url, waits).ask(REQUEST))
        return reply, len(server.asked), waits


def sentence(reply: Reply) -> str:
    assert isinstance(reply.outcome, NoProposal), reply.outcome
    assert reply.outcome.kind == "api-error"
    reply.model_dump_json()
    return reply.outcome.sentence


@EVERY
def test_an_answer_without_end_is_left_at_the_limit_and_not_asked_for_again(dialect: Dialect) -> None:
    waits: list[float] = []
    with serving(Answer(endless=True)) as server:
        reply = asyncio.run(dialect.make(server.url, waits, timeout_seconds=60.0).ask(REQUEST))
        assert server.left.wait(20), "the connection was closed"
        assert len(server.asked) == 1
    assert f"sends more than {LARGEST_ANSWER:,} bytes" in sentence(reply)
    assert waits == []


@EVERY
def test_a_bomb_of_zeros_is_not_unpacked(dialect: Dialect) -> None:
    bomb = gzip.compress(bytes(300 * MIB), 9)
    tracemalloc.start()
    try:
        reply, asked, _ = ask(dialect, Answer(bomb, headers={"Content-Encoding": "gzip"}))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "it answers compressed" in sentence(reply)
    assert asked == 1
    assert peak < 150 * MIB


@EVERY
@pytest.mark.parametrize("wish", ["inf", "1e400", "Mon, 01 Jan 99999 00:00:00 GMT", "99999999999999999999"])
def test_a_wish_to_wait_for_ever_is_given_up(dialect: Dialect, wish: str) -> None:
    reply, asked, waits = ask(dialect, dialect.error(429, headers={"Retry-After": wish}), dialect.answer())
    assert isinstance(reply.outcome, NoProposal | Proposal)
    assert all(0 <= wait <= 120 for wait in waits)
    assert asked <= 2
    reply.model_dump_json()


@EVERY
@pytest.mark.parametrize("wish", ["nan", "-5", "soon", "", "Mon, 99 Foo 2026", "\u00b2"])
def test_a_wish_that_is_none_is_not_heard(dialect: Dialect, wish: str) -> None:
    reply, asked, waits = ask(dialect, dialect.error(429, headers={"Retry-After": wish}), dialect.answer())
    assert isinstance(reply.outcome, Proposal)
    assert asked == 2
    assert 0 <= waits[0] <= 1


@EVERY
@pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", "image/png", "text/event-stream", ""])
def test_the_type_that_a_server_gives_its_answer_changes_nothing_but_the_reading(dialect: Dialect, kind: str) -> None:
    reply, _, _ = ask(dialect, Answer(dialect.answer().body, headers={"Content-Type": kind}))
    assert isinstance(reply.outcome, Proposal) or sentence(reply)


@EVERY
def test_halves_of_characters_do_not_reach_what_is_kept(dialect: Dialect) -> None:
    body = json.dumps(dialect.answer("no code \ud800 here").body)
    assert "\\ud800" in body
    reply, _, _ = ask(dialect, Answer(body))
    assert isinstance(reply.outcome, NoProposal)
    reply.model_dump_json().encode()
    reply, _, _ = ask(dialect, Answer(json.dumps(dialect.error(400, "no \udfff").body), 400))
    sentence(reply).encode()


@EVERY
def test_counts_that_cannot_be_are_unknown(dialect: Dialect) -> None:
    body = json.dumps(dialect.answer().body)
    for count in ("-1", "9" * 400):
        reply, _, _ = ask(dialect, Answer(body.replace("1000", count)))
        if isinstance(reply.outcome, Proposal):
            assert reply.usage.input_tokens is None
        reply.model_dump_json()


@EVERY
@pytest.mark.parametrize("wrong", [3, ["x"], {"text": "x"}, True])
def test_what_is_no_text_is_no_answer(dialect: Dialect, wrong: object) -> None:
    marked = json.dumps(dialect.answer("MARK").body)
    reply, asked, _ = ask(dialect, Answer(marked.replace('"MARK"', json.dumps(wrong))))
    assert isinstance(reply.outcome, NoProposal)
    assert asked == 1


@EVERY
def test_a_key_in_the_answer_itself_is_cut_out(dialect: Dialect) -> None:
    reply, _, _ = ask(dialect, dialect.answer(TEXT.replace("one load at a time", f"your key is {SECRET}")))
    assert isinstance(reply.outcome, Proposal)
    assert SECRET not in reply.model_dump_json()
