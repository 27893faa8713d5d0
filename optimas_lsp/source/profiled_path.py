"""A path as a profile names it, taken apart without touching the file system.

A report may come from another machine and another operating system, and its bytes are nobody's promise: the path may be
relative, hold ``..``, a NUL, a drive letter or thousands of parts. Comparison is by parts, ignoring case where the path
is a Windows path.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 4096
"""Longest path looked at, in characters."""

_ESCAPED = re.compile("[\udc80-\udcff]")
_DRIVE = re.compile(r"^[A-Za-z]:(?=[\\/]|$)")


@dataclass(frozen=True, slots=True)
class ProfiledPath:
    """``parts`` without root, ``.`` and inner ``..``; leading ``..`` of a relative path stay.

    ``root`` is ``/``, a lower-case drive (``c:``), ``//`` of a network share, or empty for a relative path.
    ``problem`` says why the path cannot be looked for at all.
    """

    text: str
    root: str
    parts: tuple[str, ...]
    windows: bool
    problem: str | None = None

    @property
    def name(self) -> str:
        """The last part, or empty."""
        return self.parts[-1] if self.parts and self.parts[-1] != ".." else ""

    @property
    def absolute(self) -> bool:
        """Whether it starts at a root."""
        return bool(self.root)

    def shown(self) -> str:
        """The path fit for a message: abbreviated, and printable whatever it holds."""
        text = self.text if len(self.text) <= 200 else f"{self.text[:90]}…{self.text[-90:]}"
        text = text.encode("utf-8", "replace").decode("utf-8")
        return "".join(char if char.isprintable() else "\ufffd" for char in text)

    def after(self, prefix: ProfiledPath) -> tuple[str, ...] | None:
        """The parts that follow ``prefix``, or None when this path does not start with it."""
        fold = self.windows or prefix.windows
        count = len(prefix.parts)
        if self.root != prefix.root or len(self.parts) < count:
            return None
        head = self.parts[:count]
        if [plain(part, fold=fold) for part in head] != [plain(part, fold=fold) for part in prefix.parts]:
            return None
        return self.parts[count:]

    def common_suffix(self, parts: Sequence[str], *, fold: bool = False) -> int:
        """How many parts at the end are the same."""
        fold = fold or self.windows
        count = 0
        for mine, other in zip(reversed(self.parts), reversed(parts), strict=False):
            if mine == ".." or plain(mine, fold=fold) != plain(other, fold=fold):
                break
            count += 1
        return count


def plain(part: str, *, fold: bool) -> str:
    """``part`` in the one form of its characters that is compared, ignoring case where ``fold``.

    Bytes that are no UTF-8 count as U+FFFD: a profile keeps no others, so only the content can tell such names apart.
    """
    if not part.isascii():
        part = _ESCAPED.sub("\ufffd", unicodedata.normalize("NFC", part))
    return part.casefold() if fold else part


def parse(text: str) -> ProfiledPath:
    """Take ``text`` apart; never fails and never touches the file system."""
    if len(text) > LONGEST:
        return ProfiledPath(text, "", (), windows=False, problem=f"it is {len(text)} characters long")
    if "\0" in text:
        return ProfiledPath(text, "", (), windows=False, problem="it holds a NUL character")
    drive = _DRIVE.match(text)
    windows = bool(drive) or text.startswith("\\\\") or ("\\" in text and "/" not in text)
    if windows:
        text_ = text[drive.end() :] if drive else text
        root = drive.group().lower() if drive else "//" if text.startswith("\\\\") else ""
        if not root and text_.startswith("\\"):
            root = "/"
        pieces = re.split(r"[\\/]+", text_)
    else:
        root = "/" if text.startswith("/") else ""
        pieces = text.split("/")
    parts: list[str] = []
    for piece in pieces:
        if piece in {"", "."}:
            continue
        if piece == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif piece != ".." or not root:
            parts.append(piece)
    return ProfiledPath(text, root, tuple(parts), windows)
