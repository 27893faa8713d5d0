"""What the user's state folder keeps for the open folders: jobs with their outcomes, and findings marked as known.

Other servers may have the same folders open, so it is looked at again every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimas_lsp.server import known
from optimas_lsp.server.rewrites import Rewrites

if TYPE_CHECKING:
    from optimas_lsp.server.session import Session

logger = logging.getLogger(__name__)

LOOK_SECONDS = 3.0


def take(session: Session, folders: Sequence[Path]) -> None:
    """Have a queue, and take in, off the loop, what is kept of ``folders`` and not known yet."""
    if session.rewrites is None:
        session.rewrites = Rewrites(session)
        session.spawn(_follow(session, session.rewrites))
    session.spawn(session.rewrites.load(folders))
    session.spawn(_marks(session))


async def _follow(session: Session, rewrites: Rewrites) -> None:
    """Take in what others keep, as long as this session lasts."""
    seen: object = None
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await rewrites.look()
            seen = await _marks(session, seen)
        except (OSError, RuntimeError):  # no more threads, say: what cannot be done now is done the next time
            logger.exception("what other servers keep could not be looked at")


async def _marks(session: Session, seen: object = None) -> object:
    """Have the marks of the open folders as they are kept now, unless they are as ``seen``; what to see next time."""
    folders = [folder.path for folder in session.snapshot.folders]
    now = (folders, await session.background.run(known.stamps, folders))
    before = session.snapshot.known
    if now == seen:
        return seen
    found = await session.background.run(known.load, folders)
    if session.snapshot.known is not before:
        return seen  # the user marked something meanwhile
    found |= {each for each in before if not any(Path(each.path).is_relative_to(folder) for folder in folders)}
    if found != before:
        session.snapshot = replace(session.snapshot, known=found)
        session.show_all_again()
    return now
