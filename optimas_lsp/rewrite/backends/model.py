"""What every backend takes and gives: a request, a typed reply with its calls, tokens and cost, and where it sends."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.budget import tokens_of
from optimas_lsp.rewrite.parse import Kind, NoProposal
from optimas_lsp.rewrite.prompt import Prompt
from optimas_lsp.rewrite.proposal import Proposal


class BackendError(OptimasError):
    """A backend cannot be used as configured: no model, no key, no package, a bad address."""


class Turn(Frozen):
    """One message of a conversation after the prompt: an answer, or what was wrong with it."""

    role: Literal["assistant", "user"]
    text: str


class Request(Frozen):
    """A prompt and what followed it; ``turns`` alternate, the last is the user's."""

    prompt: Prompt
    turns: tuple[Turn, ...] = ()

    @property
    def conversation(self) -> tuple[Turn, ...]:
        """Everything after the system's part."""
        return (Turn(role="user", text=self.prompt.user), *self.turns)

    @property
    def size(self) -> int:
        """Bytes of UTF-8 of all texts."""
        texts = (self.prompt.system, *(turn.text for turn in self.conversation))
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)

    @property
    def tokens(self) -> int:
        """Upper estimate of the tokens of all texts."""
        return self.prompt.tokens + sum(tokens_of(turn.text) for turn in self.turns)


class Usage(Frozen):
    """Tokens of one or several answers, as the service counted them; None: it did not say.

    ``output_tokens`` include ``reasoning_tokens``. ``price`` says in words whose prices ``cost_usd`` follows from.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    price: str = ""

    def __add__(self, other: Usage) -> Usage:
        """The sum; what one of the two does not know stays the other's."""
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            cost_usd=_sum(self.cost_usd, other.cost_usd),
            price=self.price or other.price,
        )


Number = TypeVar("Number", int, float)


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return other if one is None else one if other is None else one + other


class Call(Frozen):
    """One request over the wire: how long it took, its HTTP status, how it ended, and the wait after it (seconds)."""

    seconds: float
    status: int | None
    result: Literal["answer"] | Kind
    waited_s: float = 0.0


class Reply(Frozen):
    """What a backend gave: a proposal, or why there is none, in ``outcome``; ``text`` is the answer as it came."""

    outcome: Proposal | NoProposal
    text: str = ""
    model: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


class Destination(Frozen):
    """Where a prompt would go. ``local``: it does not leave this machine."""

    backend: str
    where: str
    model: str = ""
    local: bool = False
    encrypted: bool = True


class Backend(Protocol):
    """Answers requests. Cancelling the task ends the request at once; failures are replies, never exceptions."""

    @property
    def destination(self) -> Destination | None:
        """Where prompts go; None: nowhere, everything happens in this process."""
        ...

    async def ask(self, request: Request) -> Reply:
        """The reply; raises BackendError only for what asking again cannot mend."""
        ...
