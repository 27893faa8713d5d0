"""Asks the user before anything leaves the machine or is run, one question at a time, with the exact sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pygls.exceptions import JsonRpcException

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.consent import Action, Consents
from optimas_lsp.server.background import Background
from optimas_lsp.server.editor import Editor

YES, NO = "Accept for this folder", "No"

_ACTIONS: TypeAdapter[tuple[Action, ...]] = TypeAdapter(tuple[Action, ...])


class NotAcceptedError(OptimasError):
    """The user said no, or could not be asked; nothing was sent and nothing was run."""


class Asking:
    """The questions of one session."""

    def __init__(self, editor: Editor, background: Background) -> None:
        self._editor = editor
        self._background = background
        self._turn = asyncio.Lock()

    async def accept(
        self, title: str, folder: Path, actions: list[dict[str, Any]], waiting: Callable[[], None]
    ) -> None:
        """Return when everything is accepted, before or now; the job itself records it.

        ``waiting`` is called when the user has to be asked. Raises NotAcceptedError.
        """
        if self._turn.locked():
            waiting()  # another question is open
        async with self._turn:
            if not await self._background.run(_missing, folder, actions):
                return  # accepted meanwhile, for another job
            waiting()
            said = sentences(actions)
            if not self._editor.client.ask:
                raise _cannot_ask(folder, said)
            question = f"{title}: for the folder {folder}, Optimas would\n{said}\noptimas consent revoke takes it back."
            try:
                answer = await self._editor.ask(question, [YES, NO])
            except JsonRpcException:
                raise _cannot_ask(folder, said) from None
            if answer != YES:
                raise NotAcceptedError("you did not accept it, so nothing was sent and nothing was run")


def sentences(actions: list[dict[str, Any]]) -> str:
    """What would happen, an action a line."""
    return "\n".join(f"- {action['sentence']}" for action in actions)


def _missing(folder: Path, actions: list[dict[str, Any]]) -> bool:
    plain = [{key: value for key, value in action.items() if key != "sentence"} for action in actions]
    return bool(Consents.of_user().missing(folder, _ACTIONS.validate_python(plain)))


def _cannot_ask(folder: Path, said: str) -> NotAcceptedError:
    return NotAcceptedError(
        f"this was never accepted, and this editor cannot ask you; nothing was sent and nothing was run:\n{said}",
        where=folder,
        remedy="run optimas optimize once on a terminal and accept it there (optimas consent list shows it)",
    )
