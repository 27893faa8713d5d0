"""Readable names out of mangled ones: ``_ZN3cub11BlockReduceIfE3SumEf`` → ``cub::BlockReduce::Sum``.

Only what a chain of call sites shows is decoded: the qualified name without template arguments and parameters.
"""

from __future__ import annotations

from functools import lru_cache

_MOST = 4096


@lru_cache(maxsize=4096)
def plain(mangled: str) -> str:
    """The qualified name in ``mangled``, or ``mangled`` itself where it is not an Itanium C++ name."""
    name = mangled.rpartition("$")[2] if mangled.startswith("$") else mangled
    if not name.startswith("_Z") or len(name) > _MOST:
        return name
    parts = _parts(name, 2)
    shown = [part for part in parts if not part.startswith(("_INTERNAL_", "_GLOBAL__N"))]
    return "::".join(shown) if shown else name


def _parts(name: str, at: int) -> list[str]:
    nested = name[at : at + 1] == "N"
    if nested:
        at += 1
        while name[at : at + 1] in ("K", "V", "R", "O") and name[at : at + 1]:
            at += 1
    parts: list[str] = []
    while at < len(name):
        character = name[at]
        if character == "L":
            at += 1
        elif character.isdigit():
            length, at = _length(name, at)
            parts.append(name[at : at + length])
            at += length
        elif character == "S":
            at = _substitution(name, at)
        elif character == "I" and parts:
            at = _skip(name, at + 1)
        elif character == "C" and nested and name[at + 1 : at + 2] in ("1", "2", "3"):
            parts.append(parts[-1] if parts else "")
            at += 2
        elif name[at : at + 2] in ("cl", "cv", "pl", "mi", "ml", "dv", "ix", "aS", "pL"):
            parts.append({"cl": "operator()", "ix": "operator[]"}.get(name[at : at + 2], "operator"))
            at += 2
            if not nested:
                break
        else:
            break
        if not nested and parts:
            break
    return parts


def _length(name: str, at: int) -> tuple[int, int]:
    end = at
    while end < len(name) and name[end].isdigit() and end - at < 6:
        end += 1
    return int(name[at:end]), end


def _substitution(name: str, at: int) -> int:
    if name[at + 1 : at + 2].islower():
        return at + 2
    end = name.find("_", at)
    return end + 1 if end >= 0 else len(name)


def _skip(name: str, at: int) -> int:
    """Past the ``E`` that closes template arguments opened before ``at``."""
    depth = 1
    while at < len(name) and depth:
        character = name[at]
        if character.isdigit():
            length, at = _length(name, at)
            at += length
            continue
        if character == "S":
            at = _substitution(name, at)
            continue
        if character == "L":
            at = _literal(name, at)
            continue
        if character in "INXJF":
            depth += 1
        elif character == "E":
            depth -= 1
        at += 1
    return at


def _literal(name: str, at: int) -> int:
    """Past a literal argument ``L TYPE VALUE E``; one that holds a mangled name is skipped as a nesting."""
    end = name.find("E", at)
    return end + 1 if end >= 0 else len(name)
