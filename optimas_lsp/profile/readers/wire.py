"""The protobuf wire format, read lazily from a buffer: just enough to walk a report without its schema."""

from __future__ import annotations

from collections.abc import Iterator

Value = int | memoryview
"""A varint, or the bytes of a fixed-width or length-delimited field."""


class DamagedError(ValueError):
    """The bytes are no protobuf message."""


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The variable-length integer at ``at`` and the offset after it; raises DamagedError."""
    value = shift = 0
    while shift < 70 and at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise DamagedError("a number runs past the end")


def fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Each field of the message ``data`` as (number, value), nothing copied; raises DamagedError."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise DamagedError("field number 0")
        if kind == 0:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == 2:
            size, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise DamagedError(f"wire type {kind}")
        if at + size > len(data):
            raise DamagedError("a field runs past the end")
        yield number, data[at : at + size]
        at += size


def message(data: memoryview, number: int) -> Iterator[memoryview]:
    """The values of every length-delimited field ``number`` of the message ``data``."""
    return (value for found, value in fields(data) if found == number and isinstance(value, memoryview))


def first_int(data: memoryview, number: int) -> int | None:
    """The first varint field ``number`` of the message ``data``, or None."""
    return next((value for found, value in fields(data) if found == number and isinstance(value, int)), None)


def first_text(data: memoryview, number: int) -> str:
    """The first string field ``number`` of the message ``data``, empty when there is none."""
    return next((bytes(value).decode("utf-8", "replace") for value in message(data, number)), "")
