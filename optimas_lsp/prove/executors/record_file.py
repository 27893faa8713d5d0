"""Reads a file of records that anybody may have written: only what can be computed with and written again."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any, cast

from optimas_lsp.prove.executors.outcome import ExecutorError

LARGEST = 64 << 20
"""Bytes of the largest file of records that is read."""

DEEPEST, LONGEST = 64, 300
"""Levels of lists and tables, and digits of a whole number, that a record may have; ours have 8 and 20."""

AGAIN = "put back the file as it was kept, or remove it and prove again"
"""What to do about a file that is none."""


def read_json(place: Path) -> dict[str, Any]:
    """The object in a file of records; raises ExecutorError for what is no plain file with a JSON object in it."""
    entry: object = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if place.is_file() and place.stat().st_size <= LARGEST:  # a pipe would never end
            text = place.read_text("utf-8")
            found: object = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
            _check(found)
            entry = found
    if not isinstance(entry, dict):
        raise ExecutorError("this is no recorded result", where=place, remedy=AGAIN)
    return cast("dict[str, Any]", entry)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _whole(text: str) -> int | float:
    return int(text) if len(text) <= LONGEST else _no_number(text)


def _check(value: object, level: int = 0) -> None:
    """Raise ValueError where the value is nested too deeply, or holds text that cannot be written again."""
    if level > DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, dict):
        for name, each in cast("dict[str, object]", value).items():
            name.encode("utf-8")
            _check(each, level + 1)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            _check(each, level + 1)
