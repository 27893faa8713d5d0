"""One action before it is written for a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsprotocol import types


@dataclass(frozen=True, slots=True)
class Proposed:
    """What an action says and does. ``hindrance`` is why it cannot be done now, ``evidence`` the findings it is about.

    ``by_model``: a language model made what it applies.
    """

    title: str
    kind: str
    command: tuple[str, list[Any]] | None = None
    hindrance: str = ""
    evidence: tuple[str, ...] = ()
    edit: types.WorkspaceEdit | None = None
    preferred: bool = False
    by_model: bool = False
