"""How each service words the same things over the wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wire_server import Answer

from optimas_lsp.config import Rewrite
from optimas_lsp.rewrite.backends.calling import Patience, Service
from optimas_lsp.rewrite.backends.gemini import GeminiBackend
from optimas_lsp.rewrite.backends.keys import Key
from optimas_lsp.rewrite.backends.model import Request, Turn
from optimas_lsp.rewrite.backends.ollama_chat import OllamaBackend
from optimas_lsp.rewrite.backends.openai_chat import OpenAIBackend
from optimas_lsp.rewrite.prompt import Prompt

PROPOSAL: dict[str, Any] = {
    "functions": [{"function": "scale", "text": "__global__ void scale(float* x)\n{\n    x[threadIdx.x] *= 2.0f;\n}"}],
    "changes": [
        {
            "function": "scale",
            "original_lines": [2, 4],
            "evidence": ["PC-1"],
            "transformation": "unroll",
            "reason": "one load at a time",
            "expects": [{"metric": "long_scoreboard", "direction": "down"}],
        }
    ],
    "not_applied": [],
    "bit_exact": True,
}
TEXT = json.dumps(PROPOSAL)
SECRET = "sk-test-" + "0123456789abcdef"

PROMPT = Prompt(
    kernel="_Z5scalePf", source="scale.cu", subset="pc", functions=("scale",), evidence=("PC-1",), system="the rules",
    user="the kernel", tokens=10,
)  # fmt: skip
REQUEST = Request(prompt=PROMPT)
REPAIR = Request(
    prompt=PROMPT, turns=(Turn(role="assistant", text="my answer"), Turn(role="user", text="it does not compile"))
)


@dataclass(frozen=True)
class Dialect:
    """One service: its backend, and its words for an answer, an error, an end and tokens."""

    name: str
    backend: Callable[..., Service]
    answer: Callable[..., Answer]
    error: Callable[..., Answer]
    path: str
    cut_off: str
    blocked: str

    def make(self, url: str, waits: list[float] | None = None, **settings: Any) -> Service:
        """The backend at ``url``; waits between requests are written down instead of waited for."""

        async def sleep(seconds: float) -> None:
            (waits if waits is not None else []).append(seconds)

        chosen = {"backend": self.name, "model": "test-model", "base_url": url, "timeout_seconds": 20.0, **settings}
        return self.backend(Rewrite.model_validate(chosen), key=Key(SECRET), patience=Patience(sleep=sleep))


def openai_answer(text: str | None = TEXT, reason: str = "stop", **message: Any) -> Answer:
    return Answer(
        {
            "id": "c-1",
            "object": "chat.completion",
            "created": 1,
            "model": "test-model-1",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "logprobs": None,
                    "message": {"role": "assistant", "content": text, "refusal": None, **message},
                }
            ],
            "usage": {
                "prompt_tokens": 1000,
                "completion_tokens": 200,
                "total_tokens": 1200,
                "completion_tokens_details": {"reasoning_tokens": 50},
            },
        }
    )


def openai_error(status: int, message: str = "it failed", headers: dict[str, str] | None = None, **more: Any) -> Answer:
    return Answer({"error": {"message": message, "type": "error", **more}}, status, headers or {})


def gemini_answer(text: str | None = TEXT, reason: str = "STOP", **more: Any) -> Answer:
    parts = [{"text": "let me think", "thought": True}, {"text": text}] if text is not None else []
    return Answer(
        {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}],
            "usageMetadata": {
                "promptTokenCount": 1000,
                "candidatesTokenCount": 150,
                "thoughtsTokenCount": 50,
                "totalTokenCount": 1200,
            },
            "modelVersion": "test-model-1",
            **more,
        }
    )


def gemini_error(status: int, message: str = "it failed", headers: dict[str, str] | None = None, **more: Any) -> Answer:
    return Answer({"error": {"code": status, "message": message, "status": "FAILED", **more}}, status, headers or {})


def ollama_answer(text: str | None = TEXT, reason: str = "stop") -> Answer:
    return Answer(
        {
            "model": "test-model-1",
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text or ""},
            "done": True,
            "done_reason": reason,
            "prompt_eval_count": 1000,
            "eval_count": 200,
        }
    )


def ollama_error(status: int, message: str = "it failed", headers: dict[str, str] | None = None) -> Answer:
    return Answer({"error": message}, status, headers or {})


DIALECTS = {
    "openai": Dialect(
        "openai", OpenAIBackend, openai_answer, openai_error, "/chat/completions", "length", "content_filter"
    ),
    "gemini": Dialect(
        "gemini", GeminiBackend, gemini_answer, gemini_error, "/v1beta/models/test-model:generateContent", "MAX_TOKENS",
        "SAFETY",
    ),
    "ollama": Dialect("ollama", OllamaBackend, ollama_answer, ollama_error, "/api/chat", "length", "content_filter"),
}  # fmt: skip
