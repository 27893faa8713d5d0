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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from optimas_lsp.rewrite.guard.tokens import lex

REMOVED = "<removed>"
SHORTEST_SECRET = 8

_TELLING_NAME = re.compile(
    r"(?:^|_)(?:API)?KEYS?(?:_|$)|TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)AUTH(?:_|$)|COOKIE", re.IGNORECASE
)
_KEYS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bhf_[A-Za-z0-9]{16,}|\bAIza[\w-]{30,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bxox[abeprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?(?:-----END [A-Z ]*KEY-----|\Z)"
    r"|(?i:\bbearer\s+[\w.~+/-]{16,}=*)"
)
_NAMES = r"[\w.-]*(?:api[_-]?key|secret|token|passw(?:or)?d|credential)[\w.-]*"
_VALUE = r"(?=[^\s\"',;]*[0-9])[\w.~+/-]{12,}=*"
_ASSIGNED = re.compile(rf"(?i)\b({_NAMES}[\"']?\s*[:=]\s*[\"']?)({_VALUE})")
_ASSIGNED_TEXT = re.compile(rf"(?i)\b({_NAMES}[\"']?\s*[:=]\s*[\"'])({_VALUE})")
"""The same in code, where only a quoted value is no expression."""

_PART = r"[\w.+@~%-]"
_ROOTED = re.compile(
    rf"(?:file://)?(?:(?<![\w.])|(?<=-[A-Z]))/(?:home|Users|root|tmp|var|usr|opt|mnt|media|srv|data|scratch|work|workspaces?|projects?"
    rf"|private|export|lustre|gpfs|nfs|proc|etc|builds?)/{_PART}+(?:/{_PART}+)*"
)
_PATH = re.compile(
    rf"(?:file://)?(?<![\w./\\)\]}}:<*-])/(?![/*])(?:{_PART}+/)+{_PART}*|file:///?[\w./+@~%-]+"
    r"|(?<![\w\\%])[A-Z]:[\\/]+(?:[\w.+@~%()-]+[\\/]+)+[\w.+@~%-]*|(?<![\w./])~[\w.-]*/[\w./+@%-]+"
)
"""An absolute path of two parts or more, a file URL, a Windows path, a path from somebody's home."""

_MARK = re.compile(r"[/\\\"#]")
"""What every path, comment, string and directive has."""

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
        text = _ASSIGNED.sub(rf"\1{REMOVED}", self._everywhere(text))
        return self._without_user(_PATH.sub(self._short, text))

    def code(self, text: str) -> str:
        """Source text, which stays the same but for folders, keys, and paths in comments, strings and directives."""
        return self._commented(_ASSIGNED_TEXT.sub(rf"\1{REMOVED}", self._everywhere(text)))

    def diff(self, text: str) -> str:
        """A unified diff of source text; each line is code by itself."""
        text = _ASSIGNED_TEXT.sub(rf"\1{REMOVED}", self._everywhere(text))
        return "".join(map(self._commented, text.splitlines(keepends=True)))

    def _commented(self, text: str) -> str:
        """Code without the paths and keys in its comments, strings and directives."""
        if not _MARK.search(text):
            return text
        parts: list[str] = []
        at = 0
        for token in lex(text):
            if token.kind in _SEARCHED:
                said = _ASSIGNED.sub(rf"\1{REMOVED}", token.text)
                parts += [text[at : token.start], self._without_user(_PATH.sub(self._short, said))]
                at = token.end
        return "".join([*parts, text[at:]])

    def scrubbed(self, data: object, path: str = "") -> Any:
        """An entry's plain data with every text scrubbed; source text is known by its field."""
        if isinstance(data, str):
            if path == "patch":
                return self.diff(data)
            if data == self.user:
                return "user"
            return self.code(data) if path in _CODE else data if _is_digest(data) else self.prose(data)
        if isinstance(data, dict):
            table = cast("dict[str, Any]", data)
            return {self.prose(key): self.scrubbed(value, _below(path, key)) for key, value in table.items()}
        if isinstance(data, (list, tuple)):
            return [self.scrubbed(each, path) for each in cast("list[Any]", data)]
        return data

    def leaks(self, data: object) -> Iterator[tuple[str, str]]:
        """Field and finding for everything in plain data that must not be kept, on this machine or any other."""
        known = (*self.secrets, *self.folders)
        for path, text in _texts(data, ""):
            if any(each in text for each in known):
                yield path, "something of this machine"
        yield from leaks(data)

    def _everywhere(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, REMOVED)
        text = _KEYS.sub(REMOVED, text)
        own = self._own_folder
        text = text if own is None else own.sub(self._short, text)
        return _ROOTED.sub(self._short, text)

    @cached_property
    def _own_folder(self) -> re.Pattern[str] | None:
        names = "|".join(map(re.escape, self.folders))
        return re.compile(rf"(?:file://)?(?:{names})(?:[/\\]+{_PART}+)*[/\\]*") if names else None

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


def leaks(data: object) -> Iterator[tuple[str, str]]:
    """Field and finding for every key and absolute path in plain data, on whatever machine it was written."""
    for path, text in _texts(data, ""):
        lines = text.splitlines() if path == "patch" else [text]
        found = next(filter(None, (_leak(line, code=path in _CODE) for line in lines)), "")
        if found:
            yield path, found


def _leak(text: str, *, code: bool) -> str:
    said = text
    if code:
        said = "\n".join(each.text for each in lex(text) if each.kind in _SEARCHED) if _MARK.search(text) else ""
    if _KEYS.search(text) or _ASSIGNED.search(said) or (code and _ASSIGNED_TEXT.search(text)):
        return "a key or password"
    return "an absolute path" if _ROOTED.search(text) or _PATH.search(said) else ""


def _texts(data: object, path: str) -> Iterator[tuple[str, str]]:
    """Every text in plain data with its field, digests aside; keys of tables count as text of the table."""
    if isinstance(data, str):
        if not _is_digest(data):
            yield path, data
    elif isinstance(data, dict):
        for key, value in cast("dict[str, Any]", data).items():
            yield path, key
            yield from _texts(value, _below(path, key))
    elif isinstance(data, (list, tuple)):
        for each in cast("list[Any]", data):
            yield from _texts(each, path)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_digest(text: str) -> bool:
    return len(text) in {40, 64} and all(char in "0123456789abcdef" for char in text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
