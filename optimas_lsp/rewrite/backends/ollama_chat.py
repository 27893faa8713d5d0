"""The ``ollama`` backend: models of an Ollama server, on this machine unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimas_lsp.rewrite.backends.calling import Answered, CallError, Service, missing
from optimas_lsp.rewrite.backends.model import Request, Usage
from optimas_lsp.rewrite.prompt_rules import answer_schema

if TYPE_CHECKING:
    from ollama import ChatResponse

ROUNDED = 2048
"""The context asked for is a multiple of this, so that a server need not load a model anew for every prompt."""


class OllamaBackend(Service):
    """Asks for a context that holds prompt and answer: a server silently cuts what does not fit its default."""

    name = "ollama"
    default_url = "http://127.0.0.1:11434"
    needs_key = False

    async def call(self, request: Request) -> Answered:
        """One chat answer."""
        try:
            import httpx
            import ollama
        except ImportError as error:
            raise missing("ollama", error) from None
        options: dict[str, Any] = self.wire.options()
        client = ollama.AsyncClient(self.wire.address.url, **options)
        messages = [{"role": "system", "content": request.prompt.system}]
        messages += [{"role": turn.role, "content": turn.text} for turn in request.conversation]
        try:
            answer = await client.chat(  # type: ignore[reportUnknownMemberType]
                model=self.settings.model,
                messages=messages,
                stream=False,
                format=answer_schema() if self.settings.structured else None,
                options={
                    "temperature": self.settings.temperature,
                    "num_predict": self.settings.max_tokens,
                    "num_ctx": self._context(request),
                },
            )
        except ollama.ResponseError as error:
            words = str(error.error)
            more = "; ollama pull it first" if error.status_code == 404 else ""
            raise CallError(words + more) from None
        except ConnectionError:
            raise CallError("no Ollama server answers there; start it with: ollama serve") from None
        except httpx.HTTPError as error:
            raise CallError(str(error) or type(error).__name__) from None
        finally:
            await client.close()
        return _answered(answer)

    def _context(self, request: Request) -> int:
        needed = request.tokens + self.settings.max_tokens
        return -(-needed // ROUNDED) * ROUNDED


def _answered(answer: ChatResponse) -> Answered:
    return Answered(
        text=answer.message.content or "",
        finish_reason=answer.done_reason or "",
        usage=Usage(input_tokens=answer.prompt_eval_count, output_tokens=answer.eval_count),
        model=answer.model or "",
    )
