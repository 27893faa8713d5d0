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

from optimas_lsp.prove.runner import VERSION

HERE = Path(__file__).resolve().parent
SHORT, WHOLE = HERE.parent / "README.md", HERE.parent / "docs" / "proof.md"
MARKS = re.compile(r"(<!-- gains -->\n).*?(<!-- /gains -->)", re.DOTALL)
Entry = dict[str, Any]


def entries(sample: Path) -> list[Entry]:
    """What was recorded for one sample."""
    return json.loads((sample / "outcomes.json").read_text("utf-8"))["outcomes"]


def best(found: list[Entry]) -> Entry:
    """The best proven one, else the one that gained most."""
    return max(found, key=lambda entry: (entry["verdict"] == "proven", kernel(entry)["speedup"]))


def kernel(entry: Entry) -> dict[str, float]:
    """Kernel times: ``speedup``, ``low``, ``high``."""
    return entry["timing"]["kernel_ns"]


def stopped_by(entry: Entry) -> Entry | None:
    """The gate that failed."""
    return next((gate for gate in entry["gates"] if gate["status"] == "fail"), None)


def table(*, whole: bool) -> str:
    """Rows and, if ``whole``, every column, how it was measured and notes, as Markdown."""
    samples = sorted(place.parent for place in HERE.glob("*/outcomes.json"))
    rows, notes, proven = list[str](), list[str](), 0
    for sample in samples:
        found = entries(sample)
        one = best(found)
        proven += one["verdict"] == "proven"
        times, gate, ceiling = kernel(one), stopped_by(one), one["work_speedup"]
        gain = f"{times['speedup']:.2f} ({times['low']:.2f} to {times['high']:.2f})"
        if gate is not None and gate["name"] == "plausible":
            notes.append(over_the_ceiling(sample, one))
            said = "not offered: *plausible* sends it to a person"
        elif gate is not None:
            said = f"nothing helped (stopped by *{gate['name']}*)"
        else:
            said = "proven"
        ran = [each["status"] for each in one["gates"] if each["status"] != "skipped"]
        spent = sum(each["seconds"] for entry in found for each in entry["gates"])
        share = f"{times['speedup'] / ceiling:.0%} of {ceiling:.2f}"
        tried = f"{len(found)}, {spent:.0f} s"
        row = (f"`{sample.name}`", one["label"], gain, share, said, f"{ran.count('pass')} of {len(ran)}", tried)
        rows.append(f"| {' | '.join(row if whole else (row[0], short(one['label']), gain, said))} |")
    shown = [entry for sample in samples for entry in entries(sample)]
    machines = sorted(
        {f"{each['machine']['gpu']['name']}, driver {each['machine']['gpu']['driver']}" for each in shown}
    )
    dates = sorted({each["date"] for each in shown})
    earlier = sum(each["how"]["version"] != VERSION for each in shown)
    where = f"{proven} of {len(samples)} CUDA samples improve. {'; '.join(machines)}; {', '.join(dates)}"
    version = f"{earlier} of {len(shown)} results come from an earlier, less strict version of the proof."
    if whole:
        head = (
            f"{where}; `python tests/gpu/gains/pack.py JOBS`, then `tests/gpu/gains/run.sh JOBS OUT`. Times shorter: "
            "kernel time over all launches of the default input, with its 95 % interval. Share: of the speed-up that "
            "the same DRAM bytes and arithmetic allow. Tried: how many, and the time of all their gates as recorded, "
            f"waiting included; the runs for comparing were not timed at first. {version}"
        )
    else:
        head = (
            f"{where}. Times shorter: kernel time, with its 95 % interval. {version} Commands, every gate and all that "
            "was tried: [docs/proof.md](docs/proof.md#real-gains)."
        )
        notes = []
    columns = ["sample", "best candidate", "times shorter", "outcome"]
    if whole:
        columns[3:3] = ["share of the ceiling"]
        columns += ["gates passed", "tried"]
    header = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"
    return "\n".join([filled(head), "", header, *rows, *([""] if notes else []), *map(filled, notes)]) + "\n"


def short(label: str) -> str:
    """The transformations that a candidate is made of, without their parameters."""
    return re.sub(r" \([^()]*\)", "", label)


def filled(text: str) -> str:
    """A paragraph in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def over_the_ceiling(sample: Path, entry: Entry) -> str:
    """A note that holds a recorded claim against today's ceiling, and says that this is no verdict."""
    from optimas_lsp.config import Settings
    from optimas_lsp.insight.load import load_analysis

    report = next(iter(sorted(sample.glob("profile.ncu-rep*"))))
    _profile, analysis = load_analysis(report, Settings())
    roofline = next(each.roofline for each in analysis.kernels if each.name in entry["kernels"])
    ceiling = None if roofline is None or roofline.ceiling is None else roofline.ceiling.plausible_speedup
    today = "not known" if ceiling is None else f"{ceiling:.1f}"
    would = "would pass" if ceiling is not None and kernel(entry)["low"] <= 1.05 * ceiling else "would not pass"
    return (
        f"`{sample.name}` beats the ceiling of the bytes that the original *moved* ({entry['work_speedup']:.2f}), most "
        f"of which were sectors written in part. Held against the bytes that were *useful* ({today}), as the gate does "
        f"since, it {would}. That is arithmetic on the record and no verdict: the recorded one stands until it is "
        "proven again."
    )


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
