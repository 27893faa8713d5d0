"""The ``openai`` backend: chat completions of OpenAI, or of any server that speaks the same protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from optimas_lsp.rewrite.backends.calling import Answered, CallError, Service, missing
from optimas_lsp.rewrite.backends.model import Request, Usage
from optimas_lsp.rewrite.prompt_rules import answer_schema

if TYPE_CHECKING:
    from openai import APIStatusError
    from openai.types.chat import ChatCompletion

_OFFICIAL = "api.openai.com"
_MOST_ADAPTED = 4


class OpenAIBackend(Service):
    """Parameters that a server does not know are taken back, one at a time, and not sent again."""

    name = "openai"
    default_url = "https://api.openai.com/v1"
    _limit: str | None = None
    _tried_other = False
    _warm = True
    _shape: str | None = "json_schema"

    async def call(self, request: Request) -> Answered:
        """One completion, after as many adaptations as the server's complaints name."""
        try:
            import openai
        except ImportError as error:
            raise missing("openai", error) from None
        if self._limit is None:
            self._limit = "max_completion_tokens" if self.wire.address.host == _OFFICIAL else "max_tokens"
        key = self.wire.key.reveal() if self.wire.key is not None else "none"
        async with self.wire.client() as http:
            client = openai.AsyncOpenAI(
                api_key=key,
                base_url=self.wire.address.url,
                max_retries=0,
                timeout=None,
                http_client=http,  # type: ignore[arg-type]
            )
            for _ in range(_MOST_ADAPTED):
                try:
                    completion = await client.chat.completions.create(**self._arguments(request))  # type: ignore[reportUnknownVariableType]
                    return _answered(cast("ChatCompletion", completion))
                except openai.BadRequestError as error:
                    if not self._adapt(f"{error.param or ''} {error.message}"):
                        raise CallError(_words(error)) from None
                except openai.APIStatusError as error:
                    passing = False if error.code == "insufficient_quota" else None
                    raise CallError(_words(error), passing=passing) from None
                except openai.APIConnectionError as error:
                    raise CallError(f"{error.message} {error.__cause__ or ''}".strip()) from None
                except openai.OpenAIError as error:
                    raise CallError(str(error)) from None
        raise CallError("the server refuses every form of the request", passing=False)

    def _arguments(self, request: Request) -> dict[str, Any]:
        messages = [{"role": "system", "content": request.prompt.system}]
        messages += [{"role": turn.role, "content": turn.text} for turn in request.conversation]
        found: dict[str, Any] = {"model": self.settings.model, "messages": messages}
        if self._limit:
            found[self._limit] = self.settings.max_tokens
        if self._warm:
            found["temperature"] = self.settings.temperature
        if self.settings.structured and self._shape == "json_schema":
            found["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "proposal", "strict": True, "schema": answer_schema()},
            }
        elif self.settings.structured and self._shape == "json_object":
            found["response_format"] = {"type": "json_object"}
        return found

    def _adapt(self, complaint: str) -> bool:
        """Take back what a 400 complains about; whether anything was taken back."""
        said = complaint.lower()
        if self._limit and self._limit in said:
            other = "max_completion_tokens" if self._limit == "max_tokens" else "max_tokens"
            self._limit = "" if self._tried_other else other
            self._tried_other = True
            return True
        if self._warm and "temperature" in said:
            self._warm = False
            return True
        if (
            self._shape
            and self.settings.structured
            and ("response_format" in said or "schema" in said or "grammar" in said)
        ):
            self._shape = "json_object" if self._shape == "json_schema" else None
            return True
        return False


def _words(error: APIStatusError) -> str:
    """The service's own words, without the SDK's."""
    body = cast("object", error.body)
    said = cast("dict[str, Any]", body).get("message") if isinstance(body, dict) else None
    return said if isinstance(said, str) and said else error.message


def _answered(completion: ChatCompletion) -> Answered:
    usage = completion.usage
    details = usage.completion_tokens_details if usage is not None else None
    counted = Usage(
        input_tokens=None if usage is None else usage.prompt_tokens,
        output_tokens=None if usage is None else usage.completion_tokens,
        reasoning_tokens=None if details is None else details.reasoning_tokens,
    )
    choices = completion.choices or ()
    if not choices:
        return Answered("", usage=counted, model=completion.model or "")
    choice = choices[0]
    return Answered(
        text=choice.message.content or "",
        finish_reason=choice.finish_reason or "",
        usage=counted,
        refused=choice.message.refusal or "",
        model=completion.model or "",
    )
