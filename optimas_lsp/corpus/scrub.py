"""Keeps the machine and its owner out of the corpus: paths become names, keys are removed, what remains is refused.

Prose and code are treated apart: in code a slash may divide, so a path is looked for in comments, strings and
directives only, unless it starts as paths of people and systems do. Folders of this machine and keys are looked for
everywhere.
"""

from __future__ import annotations

import getpass
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from optimas_lsp.rewrite.guard.tokens import lex

REMOVED = "<removed>"
SHORTEST_SECRET = 8
LONGEST_CLEANING = 6
"""Rounds; what is not clean by then is refused."""


_TELLING_NAME = re.compile(
    r"(?:^|_)(?:API)?KEYS?(?:_|$)|TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)AUTH(?:_|$)|COOKIE", re.IGNORECASE
)
_KEYS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bhf_[A-Za-z0-9]{16,}|\bAIza[\w-]{30,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:nvapi|xai|pypi)-[\w-]{20,}|\b(?:gsk|npm|r8|[rs]k_live|[rs]k_test)_[A-Za-z0-9]{20,}|\bya29\.[\w-]{20,}"
    r"|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?(?:-----END [A-Z ]*KEY-----|\Z)"
    r"|(?i:\bbearer\s+[\w.~+/-]{16,}=*)|(?i:\bauthorization[\"']?\s*[:=]\s*[\"']?basic\s+)[\w+/]{6,}=*"
    r"|(?<=://)[^\s/:@\"'<>]{1,100}:[^\s/@\"'<>]{3,100}(?=@)"
)
"""Keys by their makers' prefixes, bearer tokens, and what stands before the host of a URL."""

_NAMES = r"(?:(?:api|access|account|private|auth)[_-]?key|secret|token|credential)[\w.-]{0,40}"
_VALUE = r"(?=[^\s\"',;]{0,200}[0-9])[\w.~+/-]{12,}=*"
_WORD = r"passw(?:or)?d[\w.-]{0,40}"
_ASSIGNED = re.compile(rf"(?i)((?:{_NAMES}|({_WORD}))[\"']?\s*[:=]\s*[\"']?)(?(2)[^\s\"',;<>()]{{8,}}|{_VALUE})")
_ASSIGNED_TEXT = re.compile(rf"(?i)((?:{_NAMES}|{_WORD})[\"']?\s*[:=]\s*[\"'])({_VALUE})")
"""The same in code, where only a quoted value is no expression. No part is unbounded before what decides: others wrote
the text, and a search from every place of it must not read to its end."""

_PART = r"[\w.+@~%-]"
_BEFORE = r"(?:file://)?(?:(?<![\w.)\]])|(?<=-[A-Z]))"
"""What may stand before a path: not what is divided, but an option such as ``-I``."""

_ROOTED = re.compile(
    rf"{_BEFORE}/(?:home|Users|root|tmp|var|usr|opt|mnt|media|srv|data|scratch|work|workspaces?|projects?|private"
    rf"|export|lustre|gpfs|nfs|proc|etc|builds?)/{_PART}+(?:/{_PART}+)*"
)
_ROOTED_IN_CODE = re.compile(rf"{_BEFORE}/(?:home|Users|usr|lustre|gpfs|nfs|mnt)/{_PART}+(?:/{_PART}+)+")
"""Outside of comments and strings: what nobody divides by."""

_PATH = re.compile(
    rf"(?:file://)?(?:(?<![\w./\\)\]}}*-])|(?<=\s-[A-Z])|(?<=^-[A-Z])|(?<=-isystem))/(?![/*])(?:{_PART}+/)+{_PART}*"
    r"|file:///?[\w./+@~%-]+|(?<![\w./])~[\w.-]*/[\w./+@%-]+"
)
"""An absolute path of two parts or more, a file URL, a path from somebody's home."""

_WINDOWS = re.compile(
    r"(?<![\w\\%])[A-Za-z]:(?:\\{1,4}|/(?![/*]))(?:[\w.+@~%()-]+(?: [\w.+@~%()-]+){0,8}[\\/]+)+[\w.+@~%-]*"
    r"|(?<![\w\\])(?:\\{2}|\\{4})[\w.$-]{2,}\\+[\w.$@~%()-]+(?:\\+[\w.$@~%()-]+)*"
)
"""A path from a drive, whose folders may have blanks in their names, or on another machine."""

_MARK = re.compile(r"[/\\\"#*]")
"""What every path, comment, string and directive has, and every line of a block comment."""

_INSIDE_COMMENT = re.compile(r"[ +-]?\s*\*(?:\s|$)")
"""A line of a diff from the middle of a block comment, as these are usually written."""

_SEARCHED = frozenset({"comment", "string", "directive"})
"""Tokens of code that may hold a path."""

_CODE = frozenset({"code", "patch", "functions.text"})
"""Fields of an entry that hold source text; ``patch`` line by line."""


@dataclass(frozen=True)
class Scrubber:
    """What must not be kept: ``folders`` of this machine, ``secrets`` of its environment, the ``user``'s name."""

    folders: tuple[str, ...]
    secrets: tuple[str, ...]
    user: str = ""

    @classmethod
    def of_machine(cls, environment: Mapping[str, str] | None = None, *, extra: tuple[str, ...] = ()) -> Scrubber:
        """That of this machine; ``extra`` are further folders, such as the program's own."""
        variables = os.environ if environment is None else environment
        secrets = {
            value
            for name, value in variables.items()
            if _TELLING_NAME.search(name) and len(value) >= SHORTEST_SECRET and not value.startswith("/")
        }
        places = [str(Path.home()), tempfile.gettempdir(), *(variables.get(name, "") for name in ("HOME", "TMPDIR"))]
        places += extra
        folders = {each.rstrip("/\\") for place in places if place for each in (place, os.path.realpath(place))}
        usable = sorted((each for each in folders if len(each) > 3), key=lambda each: (-len(each), each))
        return cls(tuple(usable), tuple(sorted(secrets, key=lambda each: (-len(each), each))), _user())

    def prose(self, text: str) -> str:
        """A sentence in which nothing of this machine is left; absolute paths are cut to their last part."""
        return _settled(lambda said: self._told(self._everywhere(said)), text)

    def code(self, text: str) -> str:
        """Source text, which stays the same but for folders, keys, and paths in comments, strings and directives."""
        return _settled(lambda said: self._commented(self._everywhere(said)), text)

    def diff(self, text: str) -> str:
        """A unified diff of source text; each line is code by itself."""
        lines = self._everywhere(text).splitlines(keepends=True)
        return "".join(self.code(line) if _MARK.search(line) else line for line in lines)

    def _told(self, text: str) -> str:
        text = _ASSIGNED.sub(rf"\1{REMOVED}", text)
        return self._without_user(_PATH.sub(self._short, _ROOTED.sub(self._short, _WINDOWS.sub(self._short, text))))

    def _commented(self, text: str) -> str:
        """Code without the paths and keys in its comments, strings and directives."""
        if _INSIDE_COMMENT.match(text):
            return self._told(text)
        text = _ROOTED_IN_CODE.sub(self._short, _ASSIGNED_TEXT.sub(rf"\1{REMOVED}", text))
        if not _MARK.search(text):
            return text
        parts: list[str] = []
        at = 0
        for token in lex(text):
            if token.kind in _SEARCHED:
                parts += [text[at : token.start], self._told(token.text)]
                at = token.end
        return "".join([*parts, text[at:]])

    def scrubbed(self, data: object, path: str = "") -> Any:
        """An entry's plain data with every text scrubbed; source text is known by its field."""
        if isinstance(data, str):
            if path == "patch":
                return self.diff(data)
            if path == "origin.project" and data == self.user:
                return "user"
            kept = _is_digest(data) and data not in self.secrets
            return self.code(data) if path in _CODE else data if kept else self.prose(data)
        if isinstance(data, dict):
            table = cast("dict[str, Any]", data)
            return {self.prose(key): self.scrubbed(value, _below(path, key)) for key, value in table.items()}
        if isinstance(data, (list, tuple)):
            return [self.scrubbed(each, path) for each in cast("list[Any]", data)]
        return data

    def leaks(self, data: object) -> Iterator[tuple[str, str]]:
        """Field and finding for everything in plain data that must not be kept, on this machine or any other."""
        own = self._own_folder
        for path, text in _texts(data, "", digests=True):
            if any(each in text for each in self.secrets) or (own is not None and own.search(text)):
                yield path, "something of this machine"
        yield from leaks(data)

    def _everywhere(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, REMOVED)
        text = _KEYS.sub(REMOVED, text)
        own = self._own_folder
        return text if own is None else own.sub(self._short, text)

    @cached_property
    def _own_folder(self) -> re.Pattern[str] | None:
        """A folder of this machine with what follows; of one part only, such as ``/tmp``, only where more follows."""
        long = [re.escape(each) for each in self.folders if len(re.split(r"[/\\]", each)) > 2]
        short = [re.escape(each) for each in self.folders if len(re.split(r"[/\\]", each)) <= 2]
        ways = [rf"(?:file://)?(?:{'|'.join(long)})(?![\w-])"] if long else []
        ways += [rf"{_BEFORE}(?:{'|'.join(short)})(?=[/\\]+{_PART})"] if short else []
        return re.compile(rf"(?:{'|'.join(ways)})(?:[/\\]+{_PART}+)*[/\\]*") if ways else None

    @cached_property
    def _user_part(self) -> re.Pattern[str] | None:
        name = re.escape(self.user)
        return re.compile(rf"(?<=[/\\]){name}\b|\b{name}(?=[/\\])") if len(self.user) > 1 else None

    def _without_user(self, text: str) -> str:
        return text if self._user_part is None else self._user_part.sub("user", text)

    def _short(self, match: re.Match[str]) -> str:
        path = match.group()
        name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
        own = any(path.rstrip("/\\").endswith(each) for each in self.folders)
        return "..." if own or not name or name == self.user else f".../{name}"


def _settled(clean: Callable[[str], str], text: str) -> str:
    """``text`` after cleaning until nothing changes: what is left of one path may look like another."""
    for _ in range(LONGEST_CLEANING):
        before, text = text, clean(text)
        if text == before:
            break
    return text


def leaks(data: object) -> Iterator[tuple[str, str]]:
    """Field and finding for every key and absolute path in plain data, on whatever machine it was written."""
    for path, text in _texts(data, ""):
        lines = [line for line in text.splitlines() if _MARK.search(line)] if path == "patch" else [text]
        found = "a key or password" if _KEYS.search(text) else ""
        found = found or next(filter(None, (_leak(line, code=path in _CODE) for line in lines)), "")
        if found:
            yield path, found


def _leak(text: str, *, code: bool) -> str:
    said = text
    if code and not _INSIDE_COMMENT.match(text):
        said = "\n".join(each.text for each in lex(text) if each.kind in _SEARCHED) if _MARK.search(text) else ""
    if _ASSIGNED.search(said) or (code and _ASSIGNED_TEXT.search(text)):
        return "a key or password"
    path = (
        _WINDOWS.search(said) or _ROOTED.search(said) or _PATH.search(said) or (code and _ROOTED_IN_CODE.search(text))
    )
    return "an absolute path" if path else ""


def _texts(data: object, path: str, *, digests: bool = False) -> Iterator[tuple[str, str]]:
    """Every text in plain data with its field, digests only if asked for; keys of tables count as text of the table."""
    if isinstance(data, str):
        if digests or not _is_digest(data):
            yield path, data
    elif isinstance(data, dict):
        for key, value in cast("dict[str, Any]", data).items():
            yield path, key
            yield from _texts(value, _below(path, key), digests=digests)
    elif isinstance(data, (list, tuple)):
        for each in cast("list[Any]", data):
            yield from _texts(each, path, digests=digests)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_digest(text: str) -> bool:
    return len(text) in {40, 64} and all(char in "0123456789abcdef" for char in text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
