"""The ``catalogue`` backend: the embedded transformations, for machines without a key, a network or a model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import cached_property

from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.rewrite.backends.model import BackendError, Call, Destination, Reply, Request
from optimas_lsp.rewrite.catalogue.explain import explain
from optimas_lsp.rewrite.catalogue.propose import RankedProposal, propose, shortlist
from optimas_lsp.rewrite.catalogue.registry import entries
from optimas_lsp.rewrite.experience import Experience
from optimas_lsp.rewrite.guard.model import Allowance
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt_writer import Subject

MOST = 12
"""Candidates kept, unlike ones preferred."""


class CatalogueBackend:
    """Each request is answered with the next candidate, best first; what an earlier one met does not matter.

    ``only`` names the one transformation that may be tried, ``experience`` what past attempts say of each.
    Deterministic; candidates answer only evidence that the request's prompt lists. Where there is none, the reply's
    text holds one line a transformation that says why. Raises BackendError for an unknown transformation.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        allow: tuple[Allowance, ...] = (),
        only: str = "",
        experience: Experience | None = None,
    ) -> None:
        known = [each.name for each in entries()]
        if only and only not in known:
            raise BackendError(f"there is no transformation '{only}'", remedy=f"choose one of: {', '.join(known)}")
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
            reasons = () if self._given else await asyncio.to_thread(lambda: self.reasons)
            none = NoProposal(kind="empty", sentence=self._nothing(reasons))
            return Reply(
                outcome=none,
                text="\n".join(reasons),
                model="catalogue",
                calls=(call,),
                seconds=time.monotonic() - started,
            )
        one = ranked[self._given]
        self._given += 1
        return Reply(outcome=one.proposal, text=one.label, model="catalogue", calls=(call,), seconds=seconds)

    def _nothing(self, reasons: tuple[str, ...]) -> str:
        """The sentence for an empty answer; with one transformation asked for, why it does not apply."""
        if self._only and reasons:
            return "; ".join(reasons)
        what = "no further transformation" if self._given else "no transformation"
        return (
            f"the catalogue has {what} that applies to this kernel's evidence; --transformation NAME says why one does "
            "not, optimas prompt prints what a model would be asked"
        )

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why each transformation, or the one asked for, does not apply to each function of the file."""
        kernel, found = self._kernel, self.subject
        said = explain(
            found.source.syntax.text.text,
            found.source.path,
            kernel,
            headers=found.headers,
            capability=self._capability,
            allow=self._allow,
        )
        return tuple(
            f"{each.transformation} does not apply to {each.function}: {each.reason}"
            + (f" (line {each.line})" if each.line else "")
            for each in said
            if not each.applies and self._only in {"", each.transformation}
        )

    @property
    def _kernel(self) -> KernelAnalysis:
        """The kernel with the evidence that the prompt lists."""
        listed = tuple(each for each in self.subject.kernel.evidence if each.id in self._listed)
        return self.subject.kernel.model_copy(update={"evidence": listed})

    @property
    def _capability(self) -> int:
        major, minor = self.subject.profile.device.compute_capability
        return 10 * major + minor

    @cached_property
    def candidates(self) -> tuple[RankedProposal, ...]:
        """All candidates that are tried, in order."""
        subject = self.subject
        ranked = propose(
            subject.source.syntax.text.text,
            subject.source.path,
            self._kernel,
            headers=subject.headers,
            capability=self._capability,
            allow=self._allow,
            experience=self._experience,
        )
        if self._only:
            ranked = tuple(each for each in ranked if set(each.transformations) == {self._only})
        return _as_before(ranked, self._experience or Experience())


def _as_before(ranked: Sequence[RankedProposal], known: Experience) -> tuple[RankedProposal, ...]:
    """The short list, with what was proven for this very code first, and what was refuted or refused for it last."""
    held: list[tuple[float, RankedProposal]] = []
    open_: list[RankedProposal] = []
    failed: list[RankedProposal] = []
    for each in ranked:
        before = known.before({item.function: item.text for item in each.proposal.functions})
        if before is None:
            open_.append(each)
        elif before.held:
            held.append((before.effect or 1.0, each))
        else:
            failed.append(each)
    first = [each for _, each in sorted(held, key=lambda item: -item[0])]
    return (*first, *shortlist(open_, MOST), *failed)[:MOST]
