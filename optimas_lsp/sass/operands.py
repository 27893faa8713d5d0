"""Which registers an instruction writes and reads, from its printed form and the opcode table.

A set of registers is one Python integer used as a bit set: R0 to R254, then UR0 to UR254, P0 to P6, UP0 to UP6; the
constant ones (RZ, URZ, PT, UPT) have no bit. That makes "does the consumer read what the producer wrote" one ``&``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

Unit = Literal["l1tex", "mio", "fixed", "fp64", "async", "control", "unknown"]

UNIFORM = 256
PREDICATE = 512
UNIFORM_PREDICATE = 520
ALL_PREDICATES = 0x7F << PREDICATE

_REGISTER = re.compile(r"(?<![A-Za-z0-9_])(U?R)(\d{1,3})(?![A-Za-z0-9_])(\.64)?")
_PREDICATE = re.compile(r"(?<![A-Za-z0-9_])(U?P)([0-6])(?![A-Za-z0-9_])")
_FIRST = re.compile(r"[!~|+-]*(U?R\d{1,3}|U?RZ|U?P[0-6]|U?PT|PR)(?![A-Za-z0-9_])")
_BYTES = {
    "F64": 8,
    "TF32": 4,
    "F16": 2,
    "BF16": 2,
    "S8": 1,
    "U8": 1,
    "E4M3": 1,
    "E5M2": 1,
    "S4": 0.5,
    "U4": 0.5,
    "B1": 0.125,
}


@dataclass(frozen=True, slots=True)
class Semantics:
    """What one opcode does; see ``opcodes.toml`` for the values. ``known`` is False for an opcode not in the table."""

    dests: str = "leading"
    unit: Unit = "unknown"
    space: str | None = None
    access: str | None = None
    width: str = ""
    known: bool = False


@dataclass(frozen=True, slots=True)
class Effects:
    """Register sets of one instruction (see the module's text) and bytes moved per thread for a memory access."""

    writes: int
    reads: int
    bytes_per_thread: int


@cache
def table() -> dict[str, Semantics]:
    """Semantics by base opcode, from ``opcodes.toml``."""
    data = tomllib.loads(files("optimas_lsp.sass").joinpath("opcodes.toml").read_text("utf-8"))
    found: dict[str, Semantics] = {}
    for group in data["group"]:
        semantics = Semantics(
            dests=group["dests"],
            unit=group["unit"],
            space=group.get("space"),
            access=group.get("access"),
            width=group.get("width", ""),
            known=True,
        )
        for opcode in group["opcodes"]:
            found[opcode] = semantics
    return found


def semantics(base: str) -> Semantics:
    """What the opcode does; an unlisted one gets the cautious default."""
    return table().get(base, Semantics())


def split(operands: str) -> tuple[str, ...]:
    """The operands of one printed instruction: parts at commas and blanks outside brackets and braces."""
    parts: list[str] = []
    depth = start = 0
    for index, character in enumerate(operands):
        if character in "[{(":
            depth += 1
        elif character in "]})":
            depth = max(0, depth - 1)
        elif depth == 0 and character in ", \t":
            if index > start:
                parts.append(operands[start:index])
            start = index + 1
    if start < len(operands):
        parts.append(operands[start:])
    return tuple(parts)


def run(first: int, count: int, uniform: bool = False) -> int:
    """The set of ``count`` consecutive registers from ``first`` on; those past the last one do not exist."""
    count = min(count, 255 - first)
    return ((1 << count) - 1) << (first + (UNIFORM if uniform else 0)) if count > 0 else 0


def registers(text: str, width: int) -> int:
    """Every register and predicate named in one operand; plain registers count ``width`` registers each."""
    found = 0
    for name, number, pair in _REGISTER.findall(text):
        found |= run(int(number), 2 if pair else width, name == "UR")
    for name, number in _PREDICATE.findall(text):
        found |= 1 << ((UNIFORM_PREDICATE if name == "UP" else PREDICATE) + int(number))
    return found


def effects(base: str, modifiers: tuple[str, ...], guard: str | None, operands: tuple[str, ...]) -> Effects:
    """Registers written and read by one instruction."""
    meaning = semantics(base)
    count = _written(meaning.dests, operands)
    dest_width, source_widths = _widths(meaning, base, modifiers, operands, count)
    writes = reads = 0
    for operand in operands[:count]:
        writes |= ALL_PREDICATES if operand == "PR" else registers(operand, dest_width if _is_register(operand) else 1)
    sources = operands[count:]
    for index, operand in enumerate(sources):
        if "[" in operand:
            reads |= _address(operand, meaning, modifiers)
        elif operand == "PR":
            reads |= ALL_PREDICATES
        else:
            reads |= registers(operand, source_widths[min(index, len(source_widths) - 1)])
    if guard:
        reads |= registers(guard, 1)
    moved = 4 * _modifier_width(modifiers) if meaning.access else 0
    if meaning.access and meaning.access != "copy":
        moved = {"8": 1, "16": 2}.get(next((m[1:] for m in modifiers if m in ("U8", "S8", "U16", "S16")), ""), moved)
    return Effects(writes, reads, moved)


def _is_register(operand: str) -> bool:
    return "R" in operand and "[" not in operand


def _written(rule: str, operands: tuple[str, ...]) -> int:
    if rule in ("0", "1", "2"):
        return min(int(rule), len(operands))
    if rule == "vote":
        return min(2 if operands and _is_register(operands[0]) else 1, len(operands))
    count = 0
    seen_register = False
    for operand in operands:
        kind = _FIRST.match(operand)
        if kind is None or "[" in operand:
            break
        if "R" in kind[1]:
            if seen_register:
                break
            seen_register = True
        elif operand.startswith("!"):
            break
        count += 1
    return count


def _modifier_width(modifiers: tuple[str, ...]) -> int:
    for modifier in modifiers:
        if modifier in ("64", "128", "96", "256"):
            return int(modifier) // 32
    return 1


def _widths(
    meaning: Semantics, base: str, modifiers: tuple[str, ...], operands: tuple[str, ...], count: int
) -> tuple[int, tuple[int, ...]]:
    """Registers per plain operand: of the written ones, and of each read one in order (the last repeats)."""
    rule = meaning.width
    if rule in ("double", "packed"):
        return 2, (2,)
    if rule == "clock":
        return (1 if "32" in modifiers else 2), (1,)
    if rule == "convert":
        return _converted(base, modifiers)
    if rule == "matrix-move":
        width = next((int(m) for m in modifiers if m in ("2", "4")), 1)
        return width, (width,)
    if rule == "matrix":
        return _matrix(base, modifiers)
    if rule == "warpgroup":
        return _warpgroup(modifiers, operands)
    if rule == "texture":
        return 2, (2,)
    if rule == "wide" and "WIDE" in modifiers:
        return 2, (1, 1, 2) if len(operands) - count >= 3 else (1,)
    width = _modifier_width(modifiers)
    return width, (width,)


def _address(operand: str, meaning: Semantics, modifiers: tuple[str, ...]) -> int:
    """Registers of ``desc[UR4][R2.64+UR6+0x10]``, ``[R3+0x4]``, ``c[0x2][R0]``; descriptors are pairs."""
    found = 0
    for prefix, inner in re.findall(r"([a-z]*)\[([^\]]*)\]", operand):
        descriptor = prefix in ("desc", "gdesc", "cx", "tmem", "idesc")
        found |= registers(inner, 4 if prefix == "gdesc" else 2 if descriptor else 1)
    if (
        meaning.space in ("global", "generic")
        and meaning.access != "copy"
        and "E" in modifiers
        and ".64" not in operand
        and ".U32" not in operand
    ):
        first = _REGISTER.search(operand.rpartition("[")[2])
        if first and first[1] == "R":
            found |= run(int(first[2]), 2)
    return found


def _converted(base: str, modifiers: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    types = [m for m in modifiers if re.fullmatch(r"[FSU](64|32|16|8)|BF16", m)]
    wide = [2 if name.endswith("64") else 1 for name in types]
    kind = base.removeprefix("U")
    if kind == "F2F":
        return (wide[0], (wide[1],)) if len(wide) > 1 else (1, (1,))
    if kind == "FRND":
        return (2, (2,)) if wide and wide[0] == 2 else (1, (1,))
    result, source = 1, 1
    for name, width in zip(types, wide, strict=True):
        if (name[0] == "F") == (kind == "F2I"):
            source = width
        else:
            result = width
    return result, (source,)


def _matrix(base: str, modifiers: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """Registers of D and of A, B, C, D per thread: elements M·K/32, K·N/32, M·N/32 in 4-byte registers."""
    shape = next((match for m in modifiers if (match := re.fullmatch(r"(8|16)(8)(\d+)", m))), None)
    if shape is None:
        return 4, (4, 4, 4)
    m, n, k = int(shape[1]), int(shape[2]), int(shape[3])
    kinds = [name for name in modifiers if name in _BYTES]
    size = 8.0 if base == "DMMA" else 2.0 if base == "HMMA" else 1.0
    for name in kinds:
        if base != "HMMA" or name == "TF32":
            size = float(_BYTES[name])
    result = 8 if base == "DMMA" else 2 if base == "HMMA" and "F32" not in modifiers else 4
    d = max(1, int(m * n * result / 128))
    a, b = max(1, int(m * k * size / 128)), max(1, int(k * n * size / 128))
    return d, (max(1, a // 2) if "SP" in modifiers else a, b, d, 1)


def _warpgroup(modifiers: tuple[str, ...], operands: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """A warpgroup's D has M·N/128 elements a thread; A comes from registers (4) or from a descriptor."""
    shape = next((match for m in modifiers if (match := re.fullmatch(r"(\d+)x(\d+)x(\d+)", m))), None)
    elements = int(shape[1]) * int(shape[2]) // 128 if shape else 4
    width = elements if "F32" in modifiers or "S32" in modifiers else max(1, elements // 2)
    sources = [4 if _is_register(operand) and index == 0 else width for index, operand in enumerate(operands[1:])]
    return width, tuple(sources) or (1,)
