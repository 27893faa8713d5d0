"""Whether experience of other programs helps: the rank of each sample's best proven change without it and with it.

``python benchmarks/experience.py`` leaves one sample out at a time: the catalogue ranks its candidates for that sample
without any experience, and with that of the recorded attempts on all *other* samples (``samples/corpus``). Printed are
lines "name value unit" and a table; a rank is the place in the order in which candidates are tried, 1 is the first.

What was recorded are those candidates that the catalogue tried first without experience, so the ranks without it are
good by construction, and only a change for the worse or the better tells something.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from _recorded import Recorded, recorded, samples

from optimas_lsp.corpus.experience import experience_of
from optimas_lsp.corpus.model import Entry
from optimas_lsp.corpus.recorded import recorded_entries
from optimas_lsp.corpus.store import Store
from optimas_lsp.rewrite.backends.embedded import MOST
from optimas_lsp.rewrite.catalogue import RankedProposal, propose, shortlist
from optimas_lsp.rewrite.experience import Experience
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score.effect import measured

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"


@dataclass(frozen=True)
class Ranks:
    """One recorded candidate: its places among ``of``, without and with experience; 0: it is not made any more."""

    sample: str
    steps: str
    state: str
    speedup: float
    without: int
    with_: int
    of: int


def main() -> int:
    """Print the table and the figures; keep them in build/bench/experience.json."""
    rows = [row for sample in samples() for row in ranks_of(sample)]
    best = [row for row in rows if row.state == "proven" and row is _best(rows, row.sample)]
    refuted = [row for row in rows if row.state != "proven"]
    print("| sample | candidate | proof | without | with | of |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        mark = " (best)" if row in best else ""
        cells = (row.sample, f"{row.steps}{mark}", f"{row.state}, {row.speedup:.2f}x", row.without, row.with_, row.of)
        print(f"| {' | '.join(map(str, cells))} |")
    figures: dict[str, tuple[float, str]] = {
        "experience best proven": (len(best), "samples"),
        "experience median rank without": (statistics.median(row.without for row in best), "place"),
        "experience median rank with": (statistics.median(row.with_ for row in best), "place"),
        "experience first without": (sum(row.without == 1 for row in best), "samples"),
        "experience first with": (sum(row.with_ == 1 for row in best), "samples"),
        f"experience among {MOST} without": (sum(0 < row.without <= MOST for row in best), "samples"),
        f"experience among {MOST} with": (sum(0 < row.with_ <= MOST for row in best), "samples"),
        "experience refuted that sank": (sum(row.with_ > row.without for row in refuted), f"of {len(refuted)}"),
        "experience refuted that rose": (sum(row.with_ < row.without for row in refuted), f"of {len(refuted)}"),
    }
    for name, (value, unit) in figures.items():
        print(f"{name} {value:g} {unit}")
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    told = {name: {"value": value, "unit": unit} for name, (value, unit) in figures.items()}
    (out / "experience.json").write_text(json.dumps(told, indent=2), "utf-8")
    return 0


def ranks_of(sample: str) -> Iterator[Ranks]:
    """Every recorded candidate of a sample."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for other in samples():
            if other != sample:
                store.add(attempts_on(other))
        for one in recorded(sample):
            proof = one.rewriting.proof
            if proof is not None and proof.state != "not-proven":  # such as one that was timed on another input only
                yield _ranks(sample, one, store)


@cache
def attempts_on(sample: str) -> list[Entry]:
    """The recorded attempts on a sample as the corpus holds them."""
    return recorded_entries(SAMPLES / sample / "outcomes.json", project="optimas-lsp samples", licence="Apache-2.0")


def _ranks(sample: str, one: Recorded, store: Store) -> Ranks:
    kernel = one.rewriting.analysis
    answer = one.rewriting.attempts[-1].reply.outcome
    ratio = measured(one.rewriting.proof).timing
    if kernel is None or not isinstance(answer, Proposal) or ratio is None or ratio.kernel_ns is None:
        raise SystemExit(f"{sample}: candidate {one.number} is not whole")
    known = experience_of(store, {each.rule for each in kernel.evidence})
    without, with_ = (_order(one, given) for given in (None, known))
    texts = {each.function: each.text for each in answer.functions}
    return Ranks(
        sample=sample,
        steps=" + ".join(dict.fromkeys(each.transformation for each in answer.changes)),
        state=one.rewriting.proof.state if one.rewriting.proof else "none",
        speedup=ratio.kernel_ns.speedup,
        without=_place(without, texts),
        with_=_place(with_, texts),
        of=len(without),
    )


def _order(one: Recorded, experience: Experience | None) -> tuple[RankedProposal, ...]:
    """Today's candidates for the recorded one's file and kernel, in the order in which they are tried."""
    kernel, device = one.rewriting.analysis, one.rewriting.device
    assert kernel is not None
    major, minor = device.compute_capability or (0, 0) if device is not None else (0, 0)
    file = Path(one.rewriting.source)
    ranked = propose(one.original, file, kernel, capability=10 * major + minor or None, experience=experience)
    return shortlist(ranked, len(ranked))


def _place(order: tuple[RankedProposal, ...], texts: dict[str, str]) -> int:
    """The place of the candidate with these texts, from 1; 0: it is none of them."""
    for at, each in enumerate(order, 1):
        if {item.function: item.text for item in each.proposal.functions} == texts:
            return at
    return 0


def _best(rows: list[Ranks], sample: str) -> Ranks:
    """The proven candidate of a sample that gained most."""
    return max((row for row in rows if row.sample == sample and row.state == "proven"), key=lambda row: row.speedup)


if __name__ == "__main__":
    sys.exit(main())
