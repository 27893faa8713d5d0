"""Compare what two runs produced: text, files, and the witness's testimony, bit for bit unless a tolerance was set."""

from __future__ import annotations

import hashlib
import math
import re
from itertools import zip_longest
from pathlib import Path
from typing import Iterator, Sequence

from .witness import Entry, Testimony

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


def kept_lines(path: Path, ignore: Sequence[str]) -> Iterator[bytes]:
    """The lines of an output file that count: those which no pattern of ``ignore`` matches (as bytes).

    One at a time: a candidate may print gigabytes.
    """
    patterns = [re.compile(pattern.encode()) for pattern in ignore]
    with Path(path).open("rb") as stream:
        for block in stream:
            for line in block.splitlines(keepends=True):
                if not any(p.search(line.rstrip(b"\r\n")) for p in patterns):
                    yield line


def text_difference(
    expected: Path, found: Path, ignore: Sequence[str], tolerance: dict[str, float] | None = None
) -> str | None:
    """None when two text outputs agree, else a sentence naming the first line that differs."""
    a, b = kept_lines(expected, ignore), kept_lines(found, ignore)
    for number, (left, right) in enumerate(zip_longest(a, b), 1):
        if left is None or right is None:
            more, fewer = number + sum(1 for _ in (b if left is None else a)), number - 1
            return "expected {} lines, got {}".format(*((fewer, more) if left is None else (more, fewer)))
        if left != right and not (tolerance and _close(left, right, tolerance)):
            return f"line {number}: expected {_shown(left)!r}, got {_shown(right)!r}"
    return None


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")[:200]


def _close(left: bytes, right: bytes, tolerance: dict[str, float]) -> bool:
    """Same text around the numbers, and each number the same text or finite and within the tolerance."""
    if _NUMBER.sub(b"#", left) != _NUMBER.sub(b"#", right):
        return False
    pairs = zip(_NUMBER.findall(left), _NUMBER.findall(right))
    return all(
        a == b
        or (
            math.isfinite(float(a))
            and abs(float(a) - float(b))
            <= max(tolerance.get("absolute", 0.0), tolerance.get("relative", 0.0) * abs(float(a)))
        )
        for a, b in pairs
    )


def files_difference(expected_folder: Path, found_folder: Path, patterns: Sequence[str]) -> tuple[str | None, int]:
    """(None or a sentence, how many files were compared) for output files named by glob patterns."""
    count = 0
    for pattern in patterns:
        left = {str(p.relative_to(expected_folder)): p for p in Path(expected_folder).glob(pattern) if p.is_file()}
        right = {str(p.relative_to(found_folder)): p for p in Path(found_folder).glob(pattern) if p.is_file()}
        for name in sorted(set(left) | set(right)):
            if name not in right:
                return f"the output file {name} was not written", count
            if name not in left:
                return f"an output file {name} was written that the original does not write", count
            count += 1
            place = first_difference(left[name], right[name])
            if place:
                return f"the output file {name} differs: {place}", count
    return None, count


def first_difference(expected: Path, found: Path) -> str | None:
    """None when two files are equal, else offset and count of the bytes that differ."""
    a, b = Path(expected).read_bytes(), Path(found).read_bytes()
    if a == b:
        return None
    if len(a) != len(b):
        return f"{len(b)} bytes instead of {len(a)}"
    first, differing, step = -1, 0, 1 << 16
    for start in range(0, len(a), step):
        left, right = a[start : start + step], b[start : start + step]
        if left != right:
            places = [i for i, (x, y) in enumerate(zip(left, right)) if x != y]
            differing += len(places)
            first = start + places[0] if first < 0 else first
    return f"first at byte {first}, {differing} of {len(a)} bytes differ"


def digest_file(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    state = hashlib.sha256()
    with Path(path).open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            state.update(block)
    return state.hexdigest()


def copies_difference(expected: Testimony, found: Testimony) -> str | None:
    """None when two testimonies moved the same bytes in the same order, both ways, else a sentence.

    What the host sends must not change either: a host that computes the answer and uploads it would pass otherwise.
    """
    sides = ((expected.uploads, found.uploads, "from"), (expected.readbacks, found.readbacks, "to"))
    for a, b, way in sides:
        for number, (left, right) in enumerate(zip(a, b)):
            if left["bytes"] != right["bytes"]:
                return f"copy {number} {way} the host has {right['bytes']} bytes instead of {left['bytes']}"
            if left["digest"] != right["digest"]:
                return f"copy {number} {way} the host ({left['bytes']} bytes) differs{_flags(left, right)}"
        if len(a) != len(b):
            return f"{len(b)} copies {way} the host instead of {len(a)}"
    return None


def launch_difference(expected: Testimony, found: Testimony) -> tuple[str, int | None, int | None] | None:
    """None when memory was the same after every launch, else (sentence, launch number, allocation number or None)."""
    a, b = expected.launches, found.launches
    for left, right in zip(a, b):
        if left["kernel"] != right["kernel"]:
            return "launch {} is {} instead of {}".format(left["launch"], right["kernel"], left["kernel"]), None, None
        mine = {m["allocation"]: m for m in right["memory"]}
        for memory in left["memory"]:
            other = mine.get(memory["allocation"])
            if other is None or other["bytes"] != memory["bytes"]:
                sentence = "allocation {} is missing or has another size after launch {}"
                return sentence.format(memory["allocation"], left["launch"]), left["launch"], None
            if other["digest"] != memory["digest"]:
                sentence = "allocation {} ({} bytes) differs after launch {} of {}{}".format(
                    memory["allocation"], memory["bytes"], left["launch"], left["kernel"], _flags(memory, other)
                )
                return sentence, left["launch"], memory["allocation"]
    if len(a) != len(b):
        return f"{len(b)} launches instead of {len(a)}", None, None
    return None


def _flags(expected: Entry, found: Entry) -> str:
    if expected["nonzero"] and not found["nonzero"]:
        return ": it is all zero"
    if found["nans"] and not expected["nans"]:
        return ": {} words read as NaN".format(found["nans"])
    return ""
