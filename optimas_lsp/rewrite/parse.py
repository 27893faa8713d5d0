"""From a model's plain-text answer to a Proposal: strict about meaning, forgiving about wrapping.

What is forgiven: prose and code fences around the JSON, reasoning in ``<think>`` tags, trailing commas and comments in
it, raw line breaks in its strings, unknown keys, a fence around a function's text, one citation or line number where a
list belongs. What is not: guessing. Two different proposals in one answer, a cut-off one, or code outside of a proposal
is no proposal, and nothing in an answer is ever evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, cast

from pydantic import ValidationError

from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.rewrite.proposal_shape import shaped

LONGEST_ANSWER = 2_000_000
"""Characters; a longer answer is not looked at."""

Kind = Literal["empty", "refusal", "truncated", "malformed", "api-error", "rate-limit", "time-out", "cancelled"]
"""Why there is no proposal. ``time-out`` and ``cancelled`` come from the transport, never from a text."""


class NoProposal(Frozen):
    """An answer that is no proposal, with the sentence the user reads; ``excerpt`` is its beginning, for the log."""

    kind: Kind
    sentence: str
    excerpt: str = ""


_SENTENCES: dict[Kind, str] = {
    "empty": "the model answered with nothing; ask again, or choose another model",
    "refusal": "the model declined to rewrite the kernel; its words are kept in the log",
    "truncated": "the model's answer is cut off before its end; raise the limit on output tokens or shorten the prompt",
    "malformed": "the model's answer is not a proposal",
    "api-error": "the model's service answered with an error instead of a proposal",
    "rate-limit": "the model's service says that too many requests were made; wait, or lower the rate",
    "time-out": "the model did not answer in time; raise the time limit or choose a faster model",
    "cancelled": "the request was cancelled",
}

_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete", "content_length"})
_STOPPED = frozenset({"content_filter", "safety", "refusal", "recitation", "prohibited_content", "blocklist"})
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:sorry|apologi[sz]e|afraid)|i (?:can(?:no|')?t|won't|will not|am (?:not able|unable))"
    r"|(?:can(?:no|')t|unable to) (?:help|assist|comply|fulfil|provide|do that)|as an ai\b|against (?:my|the) polic)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"\b429\b|rate[ _-]?limit|too many requests|quota|resource[ _]exhausted|tokens per min", re.IGNORECASE
)
_SERVICE = re.compile(
    r"\A\s*(?:<!doctype html|<html|(?:http/[\d.]+ )?[45]\d\d\b|(?:api|http|server|internal|openai|gateway|connection)?"
    r"\s*(?:error|exception)\b\s*[:(\d]|traceback \(most recent|upstream (?:connect|request)|bad gateway"
    r"|service unavailable|gateway time-?out|internal server error|(?:the )?(?:model|server|engine) (?:is |was )?"
    r"(?:currently )?(?:overloaded|not found|unavailable)|(?:invalid|incorrect) api key|unauthorized|forbidden\b)",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\{(?=\s*[\"}/])")
_NOISE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_EXCERPT = 400
_MOST_OPEN = 4
"""How many brackets that the text never closes are tried: each costs a walk to its end."""


def no_proposal(kind: Kind, detail: str = "", text: str = "") -> NoProposal:
    """A result of ``kind`` with its sentence, ``detail`` added to it, and the beginning of ``text``."""
    sentence = _SENTENCES[kind] + (f": {detail}" if detail else "")
    return NoProposal(kind=kind, sentence=sentence, excerpt=text.strip()[:_EXCERPT])


def parse_answer(text: str, *, finish_reason: str | None = None) -> Proposal | NoProposal:
    """The proposal in a model's answer, or why there is none; never raises for any text.

    ``finish_reason`` is what the service said about why the answer ended, in its own word.
    """
    reason = (finish_reason or "").rsplit(".", 1)[-1].lower()
    if reason in _STOPPED:
        return no_proposal("refusal", f"the service stopped it ({finish_reason})", text)
    if len(text) > LONGEST_ANSWER:
        return no_proposal("malformed", f"it has {len(text):,} characters, more than is read")
    text = sound(text).removeprefix("\ufeff")
    visible = _THINKING.sub("", text)
    if reason in _CUT_OFF:
        return no_proposal("truncated", "", text)
    if not visible.strip():
        return no_proposal("truncated", "it ended while reasoning", text) if text.strip() else no_proposal("empty")
    try:
        objects = list(_objects(visible))
    except TwiceError as error:
        return no_proposal("malformed", f"it says '{str(error)[:60]}' twice, in different ways", text)
    answers = [each for each in objects if "functions" in each]
    if answers:
        return _only(answers, visible)
    return _without_answer(visible, objects)


def sound(text: str) -> str:
    """``text`` without halves of characters, which JSON can hold and no file, log or request can."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _only(answers: list[dict[str, Any]], text: str) -> Proposal | NoProposal:
    """The one proposal among the objects that look like one."""
    found: list[Proposal] = []
    problem = ""
    for answer in answers:
        try:
            proposal = Proposal.model_validate(shaped(answer))
            halved = _SURROGATE.search(json.dumps(answer, ensure_ascii=False)) is not None
        except ValidationError as error:
            problem = problem or _explain(error)
            continue
        except RecursionError:
            problem = problem or "it is nested too deeply"
            continue
        if halved:
            problem = problem or "it holds half of a character"
            continue
        if proposal not in found:
            found.append(proposal)
    if len(found) == 1:
        return found[0]
    if found:
        return no_proposal(
            "malformed", f"it holds {len(found)} different proposals, and none is marked as the one", text
        )
    return no_proposal("malformed", problem, text)


def _without_answer(text: str, objects: list[dict[str, Any]]) -> NoProposal:
    """Why a text without any proposal has none."""
    for fields in objects:
        if "error" in fields or "errors" in fields or fields.get("type") == "error":
            said = json.dumps(fields, ensure_ascii=False)
            return no_proposal("rate-limit" if _RATE.search(said) else "api-error", _said(fields), text)
    first = " ".join(text.split())[:160]
    if _SERVICE.search(text):
        return no_proposal("rate-limit" if _RATE.search(text[:2000]) else "api-error", first, text)
    if not objects and len(text) < 400 and _RATE.search(text) and "{" not in text:
        return no_proposal("rate-limit", first, text)
    opened = re.search(r'\{\s*"', text)
    if opened and _unfinished(text[opened.start() :]):
        return no_proposal("truncated", "", text)
    if opened is None and _REFUSAL.search(text[:600]):
        return no_proposal("refusal", "", text)
    if len(_FENCE.findall(text)) % 2:
        return no_proposal("truncated", "a code fence is never closed", text)
    if opened:
        return no_proposal("malformed", "the JSON in it has no 'functions', or is not valid", text)
    return no_proposal("malformed", "it holds no JSON; code outside of a proposal is not used", text)


def _said(fields: dict[str, Any]) -> str:
    error = fields.get("error", fields.get("errors", fields))
    if isinstance(error, dict):
        error = cast("dict[str, Any]", error).get("message", error)
    return " ".join(str(cast("object", error)).split())[:200]


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"'{'.'.join(str(part) for part in item['loc'])}': {item['msg'].lower()}" for item in error.errors()[:3]
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in the text, in order; raises TwiceError for one that says a thing in two ways."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once)
    tries = unclosed = 0
    match = _OBJECT.search(text)
    while match is not None and tries < 200 and unclosed < _MOST_OPEN:
        tries += 1
        found, end = _decoded(decoder, text, match.start())
        unclosed += end is None
        if found is not None:
            yield found
        match = _OBJECT.search(text, match.start() + 1 if found is None or end is None else end)


class TwiceError(ValueError):
    """A JSON object has a key twice, with different values: readers do not agree which counts."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise TwiceError(name)
        found[name] = value
    return found


def _decoded(decoder: json.JSONDecoder, text: str, place: int) -> tuple[dict[str, Any] | None, int | None]:
    """The object that begins at ``place``, or None, and where it ends; None: the text ends first."""
    try:
        return cast("tuple[dict[str, Any], int]", decoder.raw_decode(text, place))
    except (RecursionError, TwiceError) as error:
        if isinstance(error, TwiceError):
            raise
        return None, place + 1
    except ValueError:
        end = _closing(text, place)
    if end is None:
        return None, None
    try:
        return cast("dict[str, Any]", decoder.decode(_NOISE.sub(_tidy, text[place:end]))), end
    except TwiceError:
        raise
    except (ValueError, RecursionError):
        return None, end


def _tidy(match: re.Match[str]) -> str:
    """Strings stay; comments and commas before a closing bracket go."""
    return match.group() if match.group().startswith('"') else ""


def _closing(text: str, place: int) -> int | None:
    """Just after the bracket that closes the one at ``place``; None when the text ends first."""
    depth = 0
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]"]', re.DOTALL).finditer(text, place):
        mark = match.group()
        if mark == '"':
            return None
        depth += (mark in "{[") - (mark in "}]") if len(mark) == 1 else 0
        if depth == 0:
            return match.end()
    return None


def _unfinished(text: str) -> bool:
    """Whether the text ends inside the JSON object it starts with."""
    return _closing(text, 0) is None
