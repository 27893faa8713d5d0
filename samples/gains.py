"""What the catalogue gained on every sample, from ``*/outcomes.json``: whole in docs/proof.md, in short in README.md.

    python samples/gains.py           # write the tables again
    python samples/gains.py --check   # say whether they are what the records say; exit status 1 if not

The tables stand between the marks ``<!-- gains -->`` and ``<!-- /gains -->``. Needs optimas-lsp, for today's ceilings.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

from optimas_lsp.prove.executors.credible import decided, timed_inputs
from optimas_lsp.prove.executors.outcome import parse_outcome
from optimas_lsp.prove.runner import VERSION
from optimas_lsp.prove.runner.job import TIMING

LEAST = 1 + TIMING["min_effect"]
"""The smallest gain that counts."""

HERE = Path(__file__).resolve().parent
SHORT, WHOLE = HERE.parent / "README.md", HERE.parent / "docs" / "proof.md"
MARKS = re.compile(r"(<!-- gains -->\n).*?(<!-- /gains -->)", re.DOTALL)
Entry = dict[str, Any]


INPUT = "default"
"""The input that the tables are about; a record may hold times of others, too, or of another alone."""


def entries(sample: Path) -> list[Entry]:
    """What was recorded for one sample, in so far as it was timed on ``INPUT``."""
    known: list[Entry] = json.loads((sample / "outcomes.json").read_text("utf-8"))["outcomes"]
    return [on_input(entry, sample) for entry in known if INPUT in timed_inputs(entry["timing"])]


def on_input(entry: Entry, sample: Path) -> Entry:
    """The entry; one that was too slow on another input is decided by its times of ``INPUT``."""
    if entry["verdict"] != "rejected" or entry["timing"]["input"] == INPUT:
        return entry
    settings: Entry = entry["how"]["settings"]
    asked = {"target": {"time_input": INPUT}, "ceiling_speedup": settings.get("ceiling")}
    outcome = decided(parse_outcome(entry, where=sample), asked, settings, sample)
    gates = [gate.model_dump(mode="json") for gate in outcome.gates]
    return {**entry, "verdict": outcome.verdict, "gates": gates, "timing": outcome.timing}


def proven(entry: Entry) -> bool:
    """Whether it is proven and faster on ``INPUT`` itself."""
    return entry["verdict"] == "proven" and kernel(entry)["low"] > 1 and kernel(entry)["speedup"] >= LEAST


def best(found: list[Entry]) -> Entry:
    """The best proven one, by the proof as it is now where there is one; else the one that gained most."""
    return max(
        found, key=lambda entry: (proven(entry), proven(entry) and entry["how"]["version"], kernel(entry)["speedup"])
    )


def kernel(entry: Entry) -> dict[str, float]:
    """Kernel times on ``INPUT``: ``speedup``, ``low``, ``high``."""
    timing = entry["timing"]
    return (timing if timing["input"] == INPUT else timing["inputs"][INPUT])["kernel_ns"]


def stopped_by(entry: Entry) -> Entry | None:
    """The gate that failed."""
    return next((gate for gate in entry["gates"] if gate["status"] == "fail"), None)


def won_on(entry: Entry) -> list[str]:
    """The inputs on which it is faster, each with how many times."""
    timing = entry["timing"]
    others: dict[str, Entry] = timing.get("inputs") or {timing["input"]: timing}
    times = {name: each["kernel_ns"] for name, each in others.items()}
    return [
        f"{name} {each['speedup']:.2f}" for name, each in times.items() if each["low"] > 1 and each["speedup"] >= LEAST
    ]


def table(*, whole: bool) -> str:
    """Rows and, if ``whole``, every column and how it was measured, as Markdown."""
    samples = sorted(place.parent for place in HERE.glob("*/outcomes.json"))
    shown = {sample: entries(sample) for sample in samples}
    chosen = {sample: best(found) for sample, found in shown.items() if found}
    spent = {each["sample"]: each for each in json.loads((HERE / "searches.json").read_text("utf-8"))["searches"]}
    rows = list[str]()
    for sample, one in chosen.items():
        times = kernel(one)
        gain = f"{times['speedup']:.2f} ({times['low']:.2f} to {times['high']:.2f})"
        ran = [each["status"] for each in one["gates"] if each["status"] != "skipped"]
        search = spent.get(sample.name)
        alone = (
            "" if search is None else f"{search['seconds'] - search['waiting_s']:.0f} s, {search['answers']} answers"
        )
        row = (
            f"`{sample.name}`",
            one["label"],
            gain,
            share(one),
            said(one),
            f"{ran.count('pass')} of {len(ran)}",
            alone,
        )
        rows.append(f"| {' | '.join(row if whole else (row[0], short(one['label']), gain, row[4]))} |")
    every = [entry for found in shown.values() for entry in found]
    machines = sorted(
        {f"{each['machine']['gpu']['name']}, driver {each['machine']['gpu']['driver']}" for each in every}
    )
    dates = sorted({each["date"] for each in every})
    count = sum(map(proven, chosen.values()))
    where = f"{count} of {len(samples)} CUDA samples improve. {'; '.join(machines)}; {', '.join(dates)}"
    earlier = sum(each["how"]["version"] != VERSION for each in chosen.values())
    come = "one of these results comes" if earlier == 1 else f"{earlier} of these results come"
    version = f"{come.capitalize()} from an earlier, less strict version of the proof." if earlier else ""
    if whole:
        head = (
            f"{where}; `python3 tests/gpu/search/run.py WORK OUT 3` and, for those with several inputs, "
            "`tests/gpu/gains/run.sh STUDY OUT`. Times shorter: kernel time over all launches of the default input, "
            "with its 95 % interval. Share: of the speed-up that the same DRAM bytes and arithmetic allow. One search: "
            "the wall time of `optimas optimize` with three candidates and a new profile, without its waiting for the "
            f"two searches beside it, and how many answers it took. {version}"
        )
    else:
        head = (
            f"{where}. Times shorter: kernel time, with its 95 % interval. {version} Commands, every gate and all that "
            "was tried: [docs/proof.md](docs/proof.md#real-gains)."
        )
    columns = ["sample", "best candidate", "times shorter", "outcome"]
    if whole:
        columns[3:3] = ["share of the ceiling"]
        columns += ["gates passed", "one search"]
    header = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"
    return "\n".join([filled(" ".join(head.split())), "", header, *rows]) + "\n"


def share(entry: Entry) -> str:
    """How much of the speed-up is reached that the same work allows; above it, also by the bytes that were useful."""
    gained, ceiling, useful = kernel(entry)["speedup"], entry["work_speedup"], entry["how"]["settings"].get("ceiling")
    found = f"{gained / ceiling:.0%} of {ceiling:.2f}"
    return (
        f"{found}; {gained / useful:.0%} of {useful:.1f} by the bytes that were useful"
        if gained > ceiling and useful
        else found
    )


def said(entry: Entry) -> str:
    """How it ended on ``INPUT``."""
    gate = stopped_by(entry)
    if gate is not None and gate["name"] == "plausible":
        return "not offered: *plausible* sends it to a person"
    if proven(entry):
        return "proven"
    others = won_on(entry)
    if entry["verdict"] == "proven" and others:
        return f"proven; no gain here, but on {' and '.join(others)}"
    return f"nothing helped (stopped by *{'time' if gate is None else gate['name']}*)"


def short(label: str) -> str:
    """The transformations that a candidate is made of, without their parameters."""
    return re.sub(r" \([^()]*\)", "", label)


def filled(text: str) -> str:
    """A paragraph in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def filled_in(text: str, marks: re.Match[str]) -> str:
    """``text`` between the marks."""
    return marks[1] + text + marks[2]


def main() -> int:
    """Write or check every page."""
    stale = 0
    for page in (SHORT, WHOLE):
        text = table(whole=page is WHOLE)
        before = page.read_text("utf-8")
        after = MARKS.sub(partial(filled_in, text), before)
        if after != before and "--check" in sys.argv:
            sys.stderr.write(f"{page}: the table of gains is not what the records say; run: python samples/gains.py\n")
            stale = 1
        elif after != before:
            page.write_text(after, "utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
