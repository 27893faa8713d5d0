"""How many tokens a text takes at most, and what gives way when a prompt is too long.

No model's tokeniser is at hand before a model is chosen, so tokens are estimated: bytes of UTF-8 divided by
``BYTES_PER_TOKEN``. Byte-pair encodings average 3 to 4 bytes a token on C++ and English; the divisor is lower, so that
the estimate errs to the safe side (measured in ``docs/prompt.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optimas_lsp.errors import OptimasError

BYTES_PER_TOKEN = 2.5


class BudgetError(OptimasError):
    """A prompt does not fit even without everything that may be left out."""


@dataclass(frozen=True, slots=True)
class Droppable:
    """A part of a prompt that may be left out: its key, and the words that say that it was."""

    key: str
    words: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text within its budget, its estimated tokens, and what was left out of it, least valuable first."""

    text: str
    tokens: int
    dropped: tuple[Droppable, ...]


def tokens_of(text: str) -> int:
    """An upper estimate of the tokens of ``text``."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def fit(
    parts: Sequence[Droppable], render: Callable[[Sequence[Droppable]], str], limit: int, *, fixed: int = 0
) -> Fitted:
    """The longest text that takes, with ``fixed`` tokens of what always stands, at most ``limit`` estimated tokens.

    ``parts`` come least valuable first and are left out in that order; ``render`` writes the text without those given
    to it. Raises BudgetError that names the tokens needed at least.
    """
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high) // 2
        if tokens_of(render(parts[:middle])) + fixed <= limit:
            high = middle
        else:
            low = middle + 1
    text = render(parts[:low])
    tokens = tokens_of(text)
    if tokens + fixed > limit:
        raise BudgetError(
            f"the prompt needs about {tokens + fixed:,} tokens even without everything that may be left out, and "
            f"{limit:,} are allowed",
            remedy="raise the limit (--max-tokens, rewrite.promptTokens)",
        )
    return Fitted(text, tokens, tuple(parts[:low]))
