"""Types of expressions, as far as the text tells: widths of integers, sizes of elements."""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGERS: dict[str, tuple[int, bool]] = {
    "bool": (8, False),
    "char": (8, True),
    "signed char": (8, True),
    "unsigned char": (8, False),
    "short": (16, True),
    "unsigned short": (16, False),
    "int": (32, True),
    "signed": (32, True),
    "signed int": (32, True),
    "unsigned": (32, False),
    "unsigned int": (32, False),
    "long long": (64, True),
    "long long int": (64, True),
    "unsigned long long": (64, False),
    "unsigned long long int": (64, False),
    "size_t": (64, False),
    "ptrdiff_t": (64, True),
    "int8_t": (8, True),
    "uint8_t": (8, False),
    "int16_t": (16, True),
    "uint16_t": (16, False),
    "int32_t": (32, True),
    "uint32_t": (32, False),
    "int64_t": (64, True),
    "uint64_t": (64, False),
}
"""Bits and whether signed. ``long`` is left out: its width differs between systems."""

FLOATS: dict[str, int] = {"float": 32, "double": 64}


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer type by its properties."""

    bits: int
    signed: bool

    @property
    def name(self) -> str:
        """As CUDA C++ spells it."""
        plain = {8: "char", 16: "short", 32: "int", 64: "long long"}[self.bits]
        return plain if self.signed else f"unsigned {plain}"


def plain(text: str) -> str:
    """A type's words without qualifiers, in one spelling."""
    words = [word for word in re.findall(r"[\w:]+", text) if word not in {"const", "volatile", "constexpr", "static"}]
    name = " ".join(word.removeprefix("std::") for word in words)
    return {"unsigned int": "unsigned", "int unsigned": "unsigned"}.get(name, name)


def integer(text: str) -> Integer | None:
    """The integer type that ``text`` names, or None."""
    known = INTEGERS.get(plain(text))
    return None if known is None else Integer(*known)


def size_of(text: str) -> int | None:
    """Bytes of a plain arithmetic type, or None."""
    name = plain(text)
    if name in INTEGERS:
        return INTEGERS[name][0] // 8
    return FLOATS[name] // 8 if name in FLOATS else None


def literal(text: str) -> tuple[int, Integer] | None:
    """Value and type of an integer literal, or None."""
    match = re.fullmatch(r"(0[xX][\da-fA-F']+|\d[\d']*)([uU]?)([lL]{0,2})([uU]?)", text)
    if match is None:
        return None
    digits = match.group(1).replace("'", "")
    if len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX":
        return None
    value = int(digits, 0)
    signed = not (match.group(2) or match.group(4))
    wide = bool(match.group(3)) or value >= 1 << (31 if signed else 32)
    return value, Integer(64 if wide else 32, signed)
