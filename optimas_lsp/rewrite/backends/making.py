"""The backend that the settings name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from optimas_lsp.config import Rewrite
from optimas_lsp.rewrite.backends.calling import Service
from optimas_lsp.rewrite.backends.clipboard import Clipboard
from optimas_lsp.rewrite.backends.gemini import GeminiBackend
from optimas_lsp.rewrite.backends.manual import ClipboardExchange, FileExchange, ManualBackend
from optimas_lsp.rewrite.backends.model import Backend, BackendError
from optimas_lsp.rewrite.backends.ollama_chat import OllamaBackend
from optimas_lsp.rewrite.backends.openai_chat import OpenAIBackend

SERVICES: dict[str, Callable[[Rewrite], Service]] = {
    "openai": OpenAIBackend,
    "gemini": GeminiBackend,
    "ollama": OllamaBackend,
}


def make_backend(settings: Rewrite, *, prompt_file: Path | None = None, answer_file: Path | None = None) -> Backend:
    """The model backend of ``settings``; ``manual`` exchanges the files given, without them the clipboard.

    Nothing is sent yet and no SDK imported. Raises BackendError for a backend that cannot be used as configured. The
    catalogue needs its subject and is made by ``embedded.CatalogueBackend``.
    """
    if settings.backend in SERVICES:
        return SERVICES[settings.backend](settings)
    if settings.backend == "manual":
        if prompt_file is not None and answer_file is not None:
            return ManualBackend(settings, FileExchange(prompt_file, answer_file))
        if prompt_file is not None or answer_file is not None:
            raise BackendError("one file is not enough", remedy="give both --prompt-file and --answer-file, or neither")
        return ManualBackend(settings, ClipboardExchange(Clipboard.of_system()))
    raise BackendError(f"'{settings.backend}' is no model's backend")
