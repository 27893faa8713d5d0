"""Why each transformation of the catalogue applies to a kernel, or does not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.catalogue.looking import Subject, answering, looked
from optimas_lsp.rewrite.catalogue.registry import entries
from optimas_lsp.rewrite.catalogue.variant import Refusal


class Explanation(Frozen):
    """What one transformation says of one function: the variants it has, or one sentence why it has none."""

    transformation: str
    function: str
    applies: bool
    reason: str
    line: int = 0
    variants: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


def explain(
    source_text: str,
    path: Path,
    kernel: KernelAnalysis,
    *,
    headers: Sequence[str] | None = None,
    capability: int | None = None,
    allow: Collection[str] = (),
) -> tuple[Explanation, ...]:
    """Every transformation for every function of the file that the kernel's evidence concerns, in a fixed order."""
    subject = Subject.of(source_text, path, kernel, headers=headers, capability=capability, allow=allow)
    found: list[Explanation] = []
    for site in subject.sites():
        name = site.function.shown_name
        for entry in entries():
            outcomes = list(looked(site, entry))
            variants = [each for each in outcomes if not isinstance(each, Refusal)]
            refusals = [each for each in outcomes if isinstance(each, Refusal)]
            cited = {e.id: e for each in variants for e in answering(site, entry, each.lines)}
            if variants and cited:
                found.append(
                    Explanation(
                        transformation=entry.name,
                        function=name,
                        applies=True,
                        reason=variants[0].reason,
                        line=variants[0].lines[0],
                        variants=tuple(each.label for each in variants),
                        evidence=tuple(cited),
                    )
                )
                continue
            if variants:
                rules = ", ".join(sorted({each.evidence.rule for each in site.cited})) or "none"
                refusals = [
                    Refusal(
                        f"it would apply, but no evidence asks for it there; there is {rules}", variants[0].lines[0]
                    )
                ]
            refusal = max(refusals, key=lambda each: bool(each.line), default=Refusal("nothing in it fits"))
            found.append(
                Explanation(
                    transformation=entry.name, function=name, applies=False, reason=refusal.reason, line=refusal.line
                )
            )
    return tuple(found)
