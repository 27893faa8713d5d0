"""What the user's state folder keeps for the open folders: jobs with their outcomes, and findings marked as known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimas_lsp.server import known
from optimas_lsp.server.rewrites import Rewrites

if TYPE_CHECKING:
    from optimas_lsp.server.session import Session


def take(session: Session, folders: Sequence[Path]) -> None:
    """Have a queue, and take in, off the loop, what is kept of ``folders`` and not known yet."""
    if session.rewrites is None:
        session.rewrites = Rewrites(session)
    session.spawn(session.rewrites.load(folders))
    session.spawn(_known(session, folders))


async def _known(session: Session, folders: Sequence[Path]) -> None:
    found = await session.background.run(known.load, folders)
    if found - session.snapshot.known:
        session.snapshot = replace(session.snapshot, known=session.snapshot.known | found)
        session.show_all_again()
