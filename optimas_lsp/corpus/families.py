"""Families of kernels: near-duplicates and all that was tried on one kernel, which no split of a dataset may divide.

Codes belong together when the Jaccard index of their runs of normalised tokens is ``NEAR`` or more, or when they are of
one kernel of one project; families are what such links connect. The search for pairs is exact: a set's rarest members
suffice to meet every set that it could be near to (prefix filtering, Chaudhuri et al. 2006).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Literal

from optimas_lsp.corpus.model import Entry
from optimas_lsp.corpus.shape import NEAR, jaccard, runs

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
SHARES = (0.8, 0.1, 0.1)


def near_pairs(codes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """All pairs of names whose codes are near-duplicates, each once."""
    sets = {name: runs(codes[name]) for name in sorted(codes)}
    known = Counter(each for found in sets.values() for each in found)
    meeting: dict[int, list[str]] = defaultdict(list)
    for name in sorted(sets, key=lambda each: (len(sets[each]), each)):
        mine = sets[name]
        if not mine:
            continue
        rarest = sorted(mine, key=lambda each: (known[each], each))
        prefix = rarest[: len(mine) - math.ceil(NEAR * len(mine)) + 1]
        for other in sorted({other for each in prefix for other in meeting[each]}):
            if len(sets[other]) >= NEAR * len(mine) and jaccard(mine, sets[other]) >= NEAR:
                yield other, name
        for each in prefix:
            meeting[each].append(name)


def families_of(entries: Iterable[Entry]) -> dict[str, str]:
    """The family of each entry by its key.

    A family is named by the least digest of its codes, so that its name and its split stay when others join that are
    no kin of it.
    """
    codes: dict[str, str] = {}
    code_of: dict[str, str] = {}
    first_of: dict[tuple[str, str], str] = {}
    kin = _Kin()
    for entry in entries:
        digest = sha256(entry.code.encode("utf-8", "surrogatepass")).hexdigest()
        codes.setdefault(digest, entry.code)
        code_of[entry.key] = digest
        kernel = entry.mangled or entry.kernel
        kin.join(digest, first_of.setdefault((entry.origin.project, kernel), digest))
    for one, other in near_pairs(codes):
        kin.join(one, other)
    return {key: f"f-{kin.eldest(digest)[:12]}" for key, digest in code_of.items()}


def split_of(family: str) -> Split:
    """The split of a family: a digest decides, so that it is the same in every export."""
    place = int(sha256(f"split {family}".encode()).hexdigest()[:8], 16) / 2**32
    return "train" if place < SHARES[0] else "validation" if place < SHARES[0] + SHARES[1] else "test"


class _Kin:
    """Sets of names that grow together; each is known by its least member."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def eldest(self, name: str) -> str:
        root = name
        while self._parent.setdefault(root, root) != root:
            root = self._parent[root]
        while self._parent[name] != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def join(self, one: str, other: str) -> None:
        least, greatest = sorted((self.eldest(one), self.eldest(other)))
        self._parent[greatest] = least
