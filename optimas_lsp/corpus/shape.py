"""The shape of a kernel's code: what stays the same when names, numbers, comments and layout change.

Tokens are normalised (names the programmer chose become one word, numbers another; CUDA's own names stay), and
runs of ``RUN`` tokens are hashed. Two texts are near-duplicates when their sets of runs have a Jaccard index of
``NEAR`` or more. A *sketch* is a MinHash of the set (Broder 1997): its agreement with another estimates that index
with a standard error of sqrt(J(1-J)/128), at most 4.4 %.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from optimas_lsp.rewrite.guard.tokens import lex

RUN = 5
NEAR = 0.5
HASHES = 128
AT_ONCE = 4096
"""Runs that are hashed at the same time."""

_KEPT = frozenset(
    {"if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "goto"}
    | {"const", "constexpr", "static", "inline", "extern", "volatile", "auto", "struct", "template", "typename"}
    | {"unsigned", "signed", "int", "long", "short", "char", "float", "double", "bool", "void", "half", "size_t"}
    | {"int2", "int4", "uint2", "uint4", "float2", "float4", "double2", "uint32_t", "uint64_t", "int32_t", "int64_t"}
    | {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "sizeof", "true", "false"}
    | {"def", "tl", "program_id", "arange", "load", "store", "jit", "range"}
)
"""Words with a meaning of their own; so have all that start with ``__`` or ``atomic`` or end a call of CUDA's."""

_CHANCE = np.frombuffer(
    b"".join(hashlib.blake2b(f"sketch {at}".encode(), digest_size=16).digest() for at in range(HASHES)), dtype="<u8"
)
_SCALE, _SHIFT = _CHANCE[0::2].astype(np.uint64) | np.uint64(1), _CHANCE[1::2].astype(np.uint64)
"""Multiply-shift hashing (Dietzfelbinger et al. 1997); the same on every machine, because sketches are stored."""


@lru_cache(maxsize=4096)
def normal_tokens(code: str) -> tuple[str, ...]:
    """The code's tokens without what a copy would change."""
    return tuple(
        _word(token.text)
        if token.kind == "word"
        else {"number": "0", "string": '"', "char": "'"}.get(token.kind, token.text)
        for token in lex(code)
        if token.kind not in {"comment", "directive", "stray"}
    )


def _word(text: str) -> str:
    own = text in _KEPT or text.startswith(("__", "atomic", "cuda", "cub")) or text.endswith("_sync")
    return text if own else "x"


@lru_cache(maxsize=4096)
def runs(code: str) -> frozenset[int]:
    """Hashes of all runs of normalised tokens; of a text shorter than one run, the hash of it all."""
    tokens = normal_tokens(code)
    if not tokens:
        return frozenset()
    last = max(1, len(tokens) - RUN + 1)
    return frozenset(zlib.crc32(" ".join(tokens[at : at + RUN]).encode()) for at in range(last))


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Common over all; 0 where one is empty."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def sketch_of(code: str) -> bytes:
    """``HASHES`` little-endian 32-bit minima; empty for a text without tokens."""
    found = runs(code)
    if not found:
        return b""
    values = np.fromiter(found, dtype=np.uint64, count=len(found))
    least = np.full(HASHES, 2**32 - 1, dtype=np.uint64)
    for at in range(0, len(values), AT_ONCE):
        part = values[at : at + AT_ONCE, None]
        least = np.minimum(least, ((part * _SCALE[None, :] + _SHIFT[None, :]) >> np.uint64(32)).min(axis=0))
    return least.astype("<u4").tobytes()


def likeness(one: bytes, others: list[bytes]) -> npt.NDArray[np.float64]:
    """Estimated Jaccard indices of a sketch with others, 0 to 1; 0 where a sketch is missing."""
    found = np.zeros(len(others))
    if not one:
        return found
    known = [at for at, each in enumerate(others) if len(each) == len(one)]
    if known:
        table = np.frombuffer(b"".join(others[at] for at in known), dtype="<u4").reshape(len(known), -1)
        found[known] = (table == np.frombuffer(one, dtype="<u4")).mean(axis=1)
    return found
