"""What is looked for in the corpus: a kernel's evidence, the shape of its code, its GPU."""

from __future__ import annotations

from collections.abc import Iterable

from optimas_lsp.corpus.code import code_of
from optimas_lsp.corpus.model import Device, Entry
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.prompt import changeable
from optimas_lsp.rewrite.prompt_writer import Subject


class Query(Frozen):
    """``rules`` maps each rule of evidence to its share of the kernel's samples (0 to 1); ``code`` is as in an entry.

    ``mangled`` tells the kernel itself from others that resemble it.
    """

    rules: dict[str, float]
    code: str = ""
    generation: str = ""
    mangled: str = ""

    @classmethod
    def of(cls, subject: Subject) -> Query:
        """The query for a rewrite's subject; raises SourceError when the kernel is not defined in the file."""
        text = subject.source.syntax.text.text
        code = code_of(text, (each.shown_name for each in changeable(subject)), subject.source.name)
        device = subject.profile.device
        return cls(
            rules=shares(subject.kernel),
            code=code,
            generation=Device(name=device.name, compute_capability=device.compute_capability).generation,
            mangled=subject.kernel.mangled,
        )

    @classmethod
    def of_entry(cls, entry: Entry) -> Query:
        """The query that looks for what resembles a kept attempt."""
        rules = _summed((each.rule, each.share) for each in entry.findings)
        return cls(rules=rules, code=entry.code, generation=entry.device.generation, mangled=entry.mangled)


def shares(kernel: KernelAnalysis) -> dict[str, float]:
    """Each rule of a kernel's evidence with its share of the samples, 1 at most."""
    return _summed((each.rule, each.share) for each in kernel.evidence)


def _summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for rule, share in pairs:
        found[rule] = min(1.0, found.get(rule, 0.0) + share)
    return found
