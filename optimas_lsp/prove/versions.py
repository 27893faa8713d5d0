"""Which runners decide alike: a record made by one of them is as good as one of today's.

Whoever changes the runner either raises its ``VERSION`` or names the digest of the runner before here, with what
changed after it. A record whose runner is neither today's nor named is said to come from another version of the proof.
"""

from __future__ import annotations

from collections.abc import Mapping

ALIKE: Mapping[str, str] = {
    "6c8ba6922d9ed4d1ddd88c4f4e1b168e5a3c3e4599b3cded2624e3005d304f31": (
        "what ncu says itself goes to a file of its own, so that a new profile is no longer refused for it; a record "
        "may hold times of every input; the machine is named also where a gate fails; the witness may have been built "
        "before"
    ),
    "061e795436ea2be650c5290fb0ed02b1ed35e838dc9b949d1642605f220587f6": (
        "a witness that was built for several proofs is taken only if it has its digest; a race, which no record has, "
        "is lost before the fifth pair only by the smallest effect that counts"
    ),
}
"""{digest of the runner's files: what changed after it}, all of today's ``VERSION``."""
