"""The ``gemini`` backend: Google's generative language API through google-genai."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from optimas_lsp.rewrite.backends.calling import Answered, CallError, Service, missing
from optimas_lsp.rewrite.backends.model import Request, Usage
from optimas_lsp.rewrite.prompt_rules import answer_schema

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponse


API_VERSION = "v1beta"
"""The one that takes JSON schemas."""


class GeminiBackend(Service):
    """Where the model does not take a schema, JSON alone is asked for."""

    name = "gemini"
    default_url = "https://generativelanguage.googleapis.com"
    header = "x-goog-api-key"
    prefix = ""
    _schema = True

    async def call(self, request: Request) -> Answered:
        """One generation."""
        try:
            import httpx
            from google import genai
            from google.genai import errors, types
        except ImportError as error:
            raise missing("google-genai", error) from None
        key = self.wire.key.reveal() if self.wire.key is not None else "none"
        async with self.wire.client() as http:
            options = types.HttpOptions(
                base_url=self.wire.address.url,
                api_version=API_VERSION,
                httpx_async_client=http,
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            client = genai.Client(api_key=key, vertexai=False, http_options=options)
            contents: list[Any] = [
                types.Content(
                    role="model" if turn.role == "assistant" else "user", parts=[types.Part.from_text(text=turn.text)]
                )
                for turn in request.conversation
            ]
            while True:
                structured = self.settings.structured and self._schema
                config = types.GenerateContentConfig(
                    system_instruction=request.prompt.system,
                    temperature=self.settings.temperature,
                    max_output_tokens=self.settings.max_tokens,
                    response_mime_type="application/json" if self.settings.structured else None,
                    response_json_schema=answer_schema() if structured else None,
                )
                # The SDK's own type names Pillow's images, which are unknown where Pillow is not installed.
                models: Any = client.aio.models
                try:
                    return _answered(
                        await models.generate_content(model=self.settings.model, contents=contents, config=config)
                    )
                except errors.APIError as error:
                    words = error.message or str(error)
                    if error.code == 400 and structured and "schema" in words.lower():
                        self._schema = False
                        continue
                    self._note_delay(cast("object", error.details))  # type: ignore[reportUnknownMemberType]
                    raise CallError(words) from None
                except httpx.HTTPError as error:
                    raise CallError(str(error) or type(error).__name__) from None

    def _note_delay(self, details: object) -> None:
        """The wait that a rate limit asks for stands in the body here."""
        if self.wire.seen.retry_after_s is not None or not isinstance(details, dict):
            return
        body = cast("dict[str, Any]", details)
        for item in body.get("error", body).get("details", ()):
            delay = str(item.get("retryDelay", "")).removesuffix("s")
            if delay.replace(".", "", 1).isdigit():
                self.wire.seen.retry_after_s = float(delay)


def _answered(response: GenerateContentResponse) -> Answered:
    counted = response.usage_metadata
    thoughts = counted.thoughts_token_count if counted is not None else None
    usage = Usage(
        input_tokens=None if counted is None else counted.prompt_token_count,
        output_tokens=None if counted is None else (counted.candidates_token_count or 0) + (thoughts or 0),
        reasoning_tokens=thoughts,
    )
    model = response.model_version or ""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return Answered("", usage=usage, model=model, refused=f"the prompt was blocked: {feedback.block_reason.value}")
    candidates = response.candidates or []
    if not candidates:
        return Answered("", usage=usage, model=model)
    content = candidates[0].content
    parts = (content.parts if content is not None else None) or []
    reason = candidates[0].finish_reason
    return Answered(
        text="".join(part.text or "" for part in parts if not part.thought),
        finish_reason="" if reason is None else reason.value,
        usage=usage,
        model=model,
    )
