"""The ``catalogue`` backend: the embedded transformations, for machines without a key, a network or a model."""

from __future__ import annotations

import asyncio
import time
from functools import cached_property

from optimas_lsp.rewrite.backends.model import Call, Destination, Reply, Request
from optimas_lsp.rewrite.catalogue.propose import RankedProposal, propose, shortlist
from optimas_lsp.rewrite.experience import Experience
from optimas_lsp.rewrite.guard.model import Allowance
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt_writer import Subject

MOST = 12
"""Candidates kept, unlike ones preferred."""


class CatalogueBackend:
    """Each request is answered with the next candidate, best first; what an earlier one met does not matter.

    ``only`` names the one transformation that may be tried, ``experience`` what past attempts say of each.
    Deterministic; candidates answer only evidence that the request's prompt lists.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        allow: tuple[Allowance, ...] = (),
        only: str = "",
        experience: Experience | None = None,
    ) -> None:
        self.subject = subject
        self._experience = experience
        self._only = only
        self._allow = allow
        self._given = 0
        self._listed: frozenset[str] = frozenset()

    @property
    def destination(self) -> Destination | None:
        """Nowhere."""
        return None

    async def ask(self, request: Request) -> Reply:
        """The next candidate, or that there is none."""
        started = time.monotonic()
        self._listed = frozenset(request.prompt.evidence)
        ranked = await asyncio.to_thread(lambda: self.candidates)
        seconds = time.monotonic() - started
        call = Call(seconds=seconds, status=None, result="answer")
        if self._given >= len(ranked):
            what = "no further transformation" if self._given else "no transformation"
            none = NoProposal(
                kind="empty",
                sentence=f"the catalogue has {what} that applies to this kernel's evidence; optimas prompt prints what "
                "a model would be asked",
            )
            return Reply(outcome=none, model="catalogue", calls=(call,), seconds=seconds)
        one = ranked[self._given]
        self._given += 1
        return Reply(outcome=one.proposal, text=one.label, model="catalogue", calls=(call,), seconds=seconds)

    @cached_property
    def candidates(self) -> tuple[RankedProposal, ...]:
        """All candidates that are tried, in order."""
        subject = self.subject
        kernel = subject.kernel.model_copy(
            update={"evidence": tuple(each for each in subject.kernel.evidence if each.id in self._listed)}
        )
        major, minor = subject.profile.device.compute_capability
        ranked = propose(
            subject.source.syntax.text.text,
            subject.source.path,
            kernel,
            headers=subject.headers,
            capability=10 * major + minor,
            allow=self._allow,
            experience=self._experience,
        )
        if self._only:
            ranked = tuple(each for each in ranked if set(each.transformations) == {self._only})
        return shortlist(ranked, MOST)
