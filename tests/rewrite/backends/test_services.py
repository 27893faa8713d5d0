"""Every SDK against a real server on loopback: answers, every way to fail, retries, cancelling, and what is sent."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from typing import Any

import pytest
from dialects import DIALECTS, PROPOSAL, REPAIR, REQUEST, SECRET, TEXT, Dialect, openai_answer, openai_error
from wire_server import Answer, Server, serving, unused_port

from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt_rules import answer_schema
from optimas_lsp.rewrite.proposal import Proposal

EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


def ask(dialect: Dialect, *answers: Answer, request: Any = REQUEST, **settings: Any) -> tuple[Reply, Any, list[float]]:
    """The reply, what the server was asked, and the waits between requests."""
    waits: list[float] = []
    with serving(*answers) as server:
        reply = asyncio.run(dialect.make(server.url, waits, **settings).ask(request))
        return reply, server.asked, waits


def kind(reply: Reply) -> str:
    assert isinstance(reply.outcome, NoProposal), reply.outcome
    assert reply.outcome.sentence
    return reply.outcome.kind


@EVERY
def test_an_answer_is_a_proposal_with_its_tokens(dialect: Dialect) -> None:
    reply, [asked], waits = ask(dialect, dialect.answer())
    assert isinstance(reply.outcome, Proposal)
    assert reply.outcome.functions[0].text == PROPOSAL["functions"][0]["text"]
    assert reply.text == TEXT
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 200)
    assert reply.usage.cost_usd == 0.0, "a server on this machine costs nothing"
    assert [call.result for call in reply.calls] == ["answer"]
    assert reply.model == "test-model-1"
    assert waits == []
    assert asked.path == dialect.path


@EVERY
def test_rules_prompt_and_the_conversation_are_sent_in_their_roles(dialect: Dialect) -> None:
    _, [asked], _ = ask(dialect, dialect.answer(), request=REPAIR)
    if dialect.name == "gemini":
        assert asked.body["systemInstruction"]["parts"] == [{"text": "the rules"}]
        said = [(each["role"], each["parts"][0]["text"]) for each in asked.body["contents"]]
        assert said == [("user", "the kernel"), ("model", "my answer"), ("user", "it does not compile")]
    else:
        said = [(each["role"], each["content"]) for each in asked.body["messages"]]
        assert said == [
            ("system", "the rules"),
            ("user", "the kernel"),
            ("assistant", "my answer"),
            ("user", "it does not compile"),
        ]


@EVERY
def test_the_schema_is_enforced_where_the_service_can(dialect: Dialect) -> None:
    schema = json.loads(json.dumps(answer_schema()))
    _, [asked], _ = ask(dialect, dialect.answer())
    found = {
        "openai": lambda body: body["response_format"]["json_schema"]["schema"],
        "gemini": lambda body: body["generationConfig"]["responseJsonSchema"],
        "ollama": lambda body: body["format"],
    }[dialect.name](asked.body)
    assert found == schema
    _, [plain], _ = ask(dialect, dialect.answer(), structured=False)
    assert "schema" not in json.dumps(plain.body).lower()


@EVERY
def test_each_way_to_end_without_a_proposal_is_its_own_kind(dialect: Dialect) -> None:
    half = TEXT[: len(TEXT) // 2]
    assert kind(ask(dialect, dialect.answer(half, dialect.cut_off))[0]) == "truncated"
    assert kind(ask(dialect, dialect.answer(half))[0]) == "truncated"
    assert kind(ask(dialect, dialect.answer("", dialect.blocked))[0]) == "refusal"
    assert kind(ask(dialect, dialect.answer("I'm sorry, but I can't help with that."))[0]) == "refusal"
    assert kind(ask(dialect, dialect.answer(""))[0]) == "empty"
    assert kind(ask(dialect, dialect.answer("__global__ void scale(float* x) {}"))[0]) == "malformed"


@EVERY
@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_a_passing_failure_is_asked_again(dialect: Dialect, status: int) -> None:
    reply, asked, waits = ask(dialect, dialect.error(status), dialect.answer())
    assert isinstance(reply.outcome, Proposal)
    assert [call.status for call in reply.calls] == [status, 200]
    assert len(asked) == 2
    assert len(waits) == 1
    assert 0.4 < waits[0] <= 1.0


@EVERY
def test_retries_are_bounded_and_wait_longer_each_time(dialect: Dialect) -> None:
    reply, asked, waits = ask(dialect, dialect.error(500), retries=3)
    assert kind(reply) == "api-error"
    assert "500" in reply.outcome.sentence
    assert "it failed" in reply.outcome.sentence
    assert len(asked) == 4
    assert [len(waits), waits[1] >= 1.0, waits[2] >= 2.0] == [3, True, True]


@EVERY
def test_a_rate_limit_waits_as_long_as_it_asks(dialect: Dialect) -> None:
    reply, _, waits = ask(dialect, dialect.error(429, headers={"Retry-After": "7"}), dialect.answer())
    assert isinstance(reply.outcome, Proposal)
    assert waits == [7.0]
    date = email.utils.formatdate(time.time() + 20, usegmt=True)
    _, _, waits = ask(dialect, dialect.error(429, headers={"Retry-After": date}), dialect.answer())
    assert 15 < waits[0] <= 20


@EVERY
def test_a_rate_limit_that_asks_for_too_much_is_given_up_and_says_how_much(dialect: Dialect) -> None:
    reply, asked, waits = ask(dialect, dialect.error(429, headers={"Retry-After": "3600"}))
    assert kind(reply) == "rate-limit"
    assert "3600 s" in reply.outcome.sentence
    assert (len(asked), waits) == (1, [])


@EVERY
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_lasting_failure_is_not_asked_again(dialect: Dialect, status: int) -> None:
    reply, asked, waits = ask(dialect, dialect.error(status, "no such thing"))
    assert kind(reply) == "api-error"
    assert f"status {status}: no such thing" in reply.outcome.sentence
    assert (len(asked), waits) == (1, [])


@EVERY
def test_a_server_that_hangs_is_a_time_out(dialect: Dialect) -> None:
    reply, asked, _ = ask(dialect, Answer(hang=True), timeout_seconds=1.5)
    assert kind(reply) == "time-out"
    assert len(asked) == 2, "a time-out is tried once more, not more often"
    assert [call.status for call in reply.calls] == [None, None]


@EVERY
def test_cancelling_ends_the_request_at_once(dialect: Dialect) -> None:
    async def cancel(server: Server) -> float:
        task = asyncio.create_task(dialect.make(server.url).ask(REQUEST))
        assert await asyncio.to_thread(server.arrived.wait, 20)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - started
        assert await asyncio.to_thread(server.left.wait, 10), "the connection was closed"
        return took

    with serving(Answer(hang=True)) as server:
        assert asyncio.run(cancel(server)) < 2


@EVERY
def test_nobody_there_is_an_api_error_that_names_the_address(dialect: Dialect) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    waits: list[float] = []
    reply = asyncio.run(dialect.make(url, waits, retries=1).ask(REQUEST))
    assert kind(reply) == "api-error"
    assert url in reply.outcome.sentence
    assert len(waits) == 1


@EVERY
@pytest.mark.parametrize(
    "answer",
    [
        Answer("<html>a proxy's page</html>", headers={"Content-Type": "text/html"}),
        Answer("null"),
        Answer("[]"),
        Answer('{"choices": 3, "candidates": 3, "message": 3}'),
        Answer("{" * 5000),
    ],
    ids=["html", "null", "list", "wrong types", "not JSON"],
)
def test_what_is_no_answer_of_the_protocol_is_a_typed_result(dialect: Dialect, answer: Answer) -> None:
    reply, _, _ = ask(dialect, answer, retries=0)
    assert kind(reply) in {"api-error", "empty", "malformed"}


@EVERY
def test_a_connection_that_breaks_is_asked_again(dialect: Dialect) -> None:
    whole = dialect.answer()
    reply, asked, _ = ask(dialect, Answer(whole.body, cut=True), whole)
    assert isinstance(reply.outcome, Proposal)
    assert len(asked) == 2


@EVERY
def test_a_redirect_is_not_followed(dialect: Dialect) -> None:
    with serving(dialect.answer()) as other:
        away = Answer("", 307, {"Location": f"{other.url}/elsewhere"})
        reply, asked, _ = ask(dialect, away)
        assert kind(reply) == "api-error"
        assert f"redirects to {other.url}/elsewhere" in reply.outcome.sentence
        assert (len(asked), other.asked) == (1, [])


@EVERY
def test_only_our_key_and_the_needed_headers_are_sent(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OLLAMA_API_KEY",
                 "GOOGLE_API_KEY", "GEMINI_API_KEY"):  # fmt: skip
        monkeypatch.setenv(name, f"owner-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Private: owner-header")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    _, [asked], _ = ask(dialect, dialect.answer())
    name, value = ("x-goog-api-key", SECRET) if dialect.name == "gemini" else ("authorization", f"Bearer {SECRET}")
    assert asked.headers.pop(name) == value
    assert set(asked.headers) <= {
        "host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent",
    }  # fmt: skip
    assert "owner-" not in json.dumps([asked.path, asked.headers, asked.body])


@EVERY
def test_an_error_that_repeats_the_key_does_not_show_it(dialect: Dialect) -> None:
    reply, _, _ = ask(dialect, dialect.error(401, f"the key {SECRET} is not valid"))
    assert SECRET not in reply.model_dump_json()
    assert "[key]" in reply.outcome.sentence


@pytest.mark.parametrize(
    ("complaint", "gone"),
    [
        ({"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens"}, "max_tokens"),
        ({"message": "'temperature' does not support 0.2 with this model.", "param": "temperature"}, "temperature"),
        ({"message": "response_format json_schema is not supported"}, "json_schema"),
    ],
)
def test_a_parameter_that_a_compatible_server_does_not_know_is_taken_back(complaint: dict[str, str], gone: str) -> None:
    refused = Answer({"error": {"type": "invalid_request_error", **complaint}}, 400)
    reply, [first, second], _ = ask(DIALECTS["openai"], refused, openai_answer())
    assert isinstance(reply.outcome, Proposal)
    assert f'"{gone}"' in json.dumps(first.body)
    assert f'"{gone}"' not in json.dumps(second.body)
    if gone == "max_tokens":
        assert second.body["max_completion_tokens"] == first.body["max_tokens"]


def test_a_server_that_refuses_everything_is_given_up() -> None:
    refused = openai_error(400, "max_tokens max_completion_tokens temperature response_format")
    reply, asked, _ = ask(DIALECTS["openai"], refused)
    assert kind(reply) == "api-error"
    assert len(asked) <= 4


def test_a_refusal_in_words_of_its_own_is_a_refusal() -> None:
    reply, _, _ = ask(DIALECTS["openai"], openai_answer(None, refusal="I will not do that."))
    assert kind(reply) == "refusal"
    assert "I will not do that." in reply.outcome.sentence


def test_an_exhausted_quota_is_not_asked_again() -> None:
    error = openai_error(429, "You exceeded your current quota", code="insufficient_quota")
    reply, asked, _ = ask(DIALECTS["openai"], error)
    assert kind(reply) == "rate-limit"
    assert len(asked) == 1


def test_gemini_waits_as_the_body_asks_and_names_what_was_blocked() -> None:
    gemini = DIALECTS["gemini"]
    limited = gemini.error(429, details=[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "11s"}])
    _, _, waits = ask(gemini, limited, gemini.answer())
    assert waits == [11.0]
    blocked = Answer({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}})
    reply, _, _ = ask(gemini, blocked)
    assert kind(reply) == "refusal"
    assert "SAFETY" in reply.outcome.sentence
    refused = gemini.error(400, "response_json_schema is not supported for this model")
    reply, [_, second], _ = ask(gemini, refused, gemini.answer())
    assert isinstance(reply.outcome, Proposal)
    assert "responseJsonSchema" not in second.body["generationConfig"]


def test_ollama_is_asked_for_a_context_that_holds_prompt_and_answer() -> None:
    _, [asked], _ = ask(DIALECTS["ollama"], DIALECTS["ollama"].answer(), max_tokens=5000)
    options = asked.body["options"]
    assert options["num_predict"] == 5000
    assert options["num_ctx"] >= 5010
    assert options["num_ctx"] % 2048 == 0
    assert asked.body["stream"] is False
