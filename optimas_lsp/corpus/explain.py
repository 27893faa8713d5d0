"""What past attempts say about a finding, in sentences: for hovers, lenses and *Explain*."""

from __future__ import annotations

from optimas_lsp.corpus.facade import Corpus
from optimas_lsp.insight.evidence import Evidence
from optimas_lsp.rewrite.experience import Experience, Record

MOST = 3


def sentences(finding: Evidence, corpus: Corpus | None = None, *, most: int = MOST) -> tuple[str, ...]:
    """At most ``most`` sentences about what was tried on findings of this rule, best first, failures last.

    ``corpus`` None: the user's. Empty where nothing was tried or the corpus cannot be read; raises nothing. It reads a
    file, which takes some milliseconds: not for an event loop.
    """
    known = (corpus or Corpus.of_user()).experience((finding.rule,))
    return told(finding.rule, known, most=most)


def told(rule: str, known: Experience, *, most: int = MOST) -> tuple[str, ...]:
    """The sentences, from experience that is at hand; the last is kept for what never held, if there is any."""
    records = [each for each in known.records if each.rule == rule]
    held = sorted(
        (each for each in records if each.proven),
        key=lambda each: (-known.factor(each.transformation, (rule,)), each.transformation),
    )
    failed = sorted((each for each in records if not each.proven), key=lambda each: (-each.tries, each.transformation))[
        :1
    ]
    shown = [*held[: most - len(failed)], *failed]
    return tuple(_sentence(each) for each in shown[:most])


def _sentence(record: Record) -> str:
    name = record.transformation
    if not record.proven:
        tries = "the one time" if record.tries == 1 else f"all {record.tries} times"
        return f"{name} failed {tries} it was tried on {record.rule}"
    times = "once" if record.tries == 1 else f"{record.proven} of {record.tries} times"
    gain = "" if record.effect is None else f", kernel time {record.effect:.2f}x shorter (median)"
    return f"{name} was tried on {record.rule} before and proven {times}{gain}"
