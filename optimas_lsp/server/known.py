"""Findings that a user marked as known, kept in the user's state folder; they stay known when profiled again.

One file a workspace folder, which all servers on it change in turn. Everything here blocks and is called off the loop.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from optimas_lsp.profile.regular import read_regular
from optimas_lsp.profile.replace import write_atomically
from optimas_lsp.profile.turn import turn
from optimas_lsp.rewrite.consent import state_folder
from optimas_lsp.server.reports import stamp

logger = logging.getLogger(__name__)

SCHEMA = "optimas.known/1"

LIMIT = 16 * 1024 * 1024
"""Bytes of the largest file that is read."""


class Known(NamedTuple):
    """A finding by what stays from profile to profile: its file, kernel and rule, and the text of its line, stripped.

    ``rule`` has the evidence's source in front; ``line`` is empty for what is said about a whole kernel.
    """

    path: str
    kernel: str
    rule: str
    line: str


def _place(folder: Path) -> Path:
    return state_folder() / "known" / (hashlib.sha256(os.fsencode(folder)).hexdigest()[:16] + ".json")


def load(folders: Iterable[Path]) -> frozenset[Known]:
    """What was marked in ``folders``; a file that cannot be read counts as empty."""
    found: set[Known] = set()
    for folder in folders:
        try:
            found |= _kept(_place(folder))
        except (OSError, ValueError) as error:
            logger.warning("the known findings of %s are not readable: %s", folder, error)
    return frozenset(found)


def _kept(place: Path) -> frozenset[Known]:
    """The marks in one file, none without it; raises OSError, and ValueError for a file that is damaged."""
    try:
        kept = json.loads(read_regular(place, LIMIT))
        return frozenset(Known(*map(str, row)) for row in kept["known"])
    except FileNotFoundError:
        return frozenset()
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"not {SCHEMA}: {error}") from None


def change(folder: Path, more: Collection[Known], gone: Callable[[Known], bool]) -> None:
    """Mark ``more`` in ``folder`` and unmark those that are ``gone``; what others marked stays.

    A damaged file is kept beside the new one. Raises OSError, also where the marks so far cannot be read: writing
    would lose them.
    """
    place = _place(folder)
    with turn(place.with_suffix(".turn")):
        try:
            kept = _kept(place)
        except ValueError as error:
            logger.warning("the known findings of %s begin anew: %s", folder, error)
            place.replace(place.with_suffix(".damaged"))
            kept = frozenset[Known]()
        known = frozenset(each for each in kept if not gone(each)) | frozenset(more)
        if known != kept:
            data = json.dumps({"schema": SCHEMA, "folder": str(folder), "known": sorted(known)}, indent=1)
            write_atomically(place, data.encode())


def stamps(folders: Iterable[Path]) -> tuple[object, ...]:
    """What differs when something was marked or unmarked meanwhile."""
    return tuple(stamp(_place(folder)) for folder in folders)
