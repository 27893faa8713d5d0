"""How much of a profiled file's text a file here still holds: what proves that it is the same file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from optimas_lsp.source.anchors import Measured, digest
from optimas_lsp.source.text import SourceText, decode

SIMILAR = 0.60
"""Least share of lines in common (twice the common ones over the sum of both) that makes a file the profiled one."""

FEW_LINES = 5
"""Below this many telling lines only identical content counts."""

LARGEST = 16 * 1024 * 1024
"""Files of more bytes are not compared."""

_TRIVIAL = frozenset({"", "{", "}", "};", "});", "else", "else {", "} else {", "endif", "#endif", "#else", "break;"})
_TRIVIAL_DIGESTS = frozenset(digest(line) for line in _TRIVIAL)


def similarity(measured: Measured, path: Path) -> float | None:
    """Twice the telling lines in common over the sum of both files' telling lines, 0 to 1.

    None when the file cannot be read or is larger than ``LARGEST``. Blank lines and lone braces tell nothing.
    """
    try:
        if path.stat().st_size > LARGEST:
            return None
        text = SourceText.of(decode(path.read_bytes()).text)
    except OSError:
        return None
    measured = measured.comparable_with(text)
    theirs = _telling(measured.keys, measured)
    ours = _telling([measured.key(line) for line in text.lines], measured)
    return 2 * (theirs & ours).total() / max(1, theirs.total() + ours.total())


def proves(likeness: float | None, measured: Measured | None) -> bool:
    """Whether a file of this ``similarity`` may be taken for the profiled one."""
    if likeness is None or measured is None:
        return False
    few = _telling(measured.keys, measured).total() < FEW_LINES
    return likeness >= (1.0 if few else SIMILAR)


def in_words(likeness: float) -> str:
    """The likeness as a clause."""
    return "its lines are as profiled" if likeness == 1.0 else f"{min(likeness, 0.99):.0%} of its lines are as profiled"


def _telling(keys: Iterable[str], measured: Measured) -> Counter[str]:
    if measured.digests:
        return Counter(key for key in keys if key not in _TRIVIAL_DIGESTS)
    return Counter(key for key in keys if key.strip() not in _TRIVIAL)
