"""Findings that a user marked as known, kept in the user's state folder; they stay known when profiled again.

One file a workspace folder. Reading and writing block and happen off the event loop.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from optimas_lsp.profile.replace import write_atomically
from optimas_lsp.rewrite.consent import state_folder

logger = logging.getLogger(__name__)

SCHEMA = "optimas.known/1"


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
            kept = json.loads(_place(folder).read_bytes())
            found |= {Known(*map(str, row)) for row in kept["known"]}
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.warning("the known findings of %s are not readable: %s", folder, error)
    return frozenset(found)


def save(folder: Path, known: Collection[Known]) -> None:
    """Keep what is known in ``folder``; raises OSError."""
    place = _place(folder)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    rows = sorted(each for each in known if Path(each.path).is_relative_to(folder))
    write_atomically(place, json.dumps({"schema": SCHEMA, "folder": str(folder), "known": rows}, indent=1).encode())
