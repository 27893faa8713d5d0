"""The data card of a dataset: what is in it, where it is from, under which licences, what it is not good for."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from optimas_lsp.corpus.dataset import Manifest, Published
from optimas_lsp.corpus.families import SPLITS
from optimas_lsp.corpus.shape import NEAR, RUN

_CARD = """\
---
license: {licence}
pretty_name: {quoted}
size_categories: [{size}]
tags: [cuda, gpu, performance, profiling, program-optimization]
configs:
- config_name: default
  data_files:
{splits}
---

# {title}

Attempts at making GPU kernels faster, one a row (schema `optimas.attempt/1` with `family`, `split` and `noes`): the
kernel's code, the evidence of its profile, the proposed change with the evidence it cites, every gate of the proof, and
times before and after with 95 % intervals. Failures are in it as well as what was proven.

| | |
|---|---|
| attempts | {rows} |
| families of kernels | {families} |
| endings | {endings} |
| GPUs | {devices} |
| proposed by | {authors} |
| measured | {dates} |

## Where it is from

| project | licence | attempts | kernels |
|---|---|---|---|
{origins}

`origin.licence` of each row is an SPDX expression; empty means that it is not known, and such code may not be passed on
before it is.

## Splits

| split | attempts | families |
|---|---|---|
{table}

A family is all attempts on one kernel of one project and on near-duplicates of it: codes whose sets of runs of {run}
tokens, names and numbers made equal, have a Jaccard index of {near:g} or more. A digest of the family's name decides
the split, so that no family is in two and a family keeps its split when the dataset grows.

## How it was made, and what to mind

- `ending` is `proven` only where every gate passed and the kernel was faster by more than the noise. A time is recorded
  only for runs that passed their checks. `refuted` may be correct code that is no faster, or whose gain is implausible.
- `speedup` is the ratio of median kernel times of interleaved runs. It holds for that GPU, that input and those clocks.
- Shares of evidence are of PC samples, with the 95 % margin in `margin`.
- Paths were cut to their last part, keys removed; prompts' and answers' raw texts are not in it.
- What was tried is what backends proposed for what profiles showed: it is no random sample of kernels or changes.

`optimas corpus validate FOLDER` checks a copy; `optimas corpus import FOLDER` merges it into your own corpus.
"""


def card(manifest: Manifest, rows: Sequence[Published]) -> str:
    """The text of ``README.md``."""
    known = sorted(set(manifest.licences) - {"unknown"})
    licence = known[0].lower() if len(known) == 1 and len(manifest.licences) == 1 else "other"
    names: dict[str, list[str]] = {}
    for file in manifest.files:
        names.setdefault(file.split, []).append(file.name)
    return _CARD.format(
        licence=licence,
        title=_cell(manifest.title),
        quoted=json.dumps(_cell(manifest.title), ensure_ascii=False),
        size=_size(manifest.rows),
        splits="\n".join(f"  - split: {each}\n    path: {_preferred(names[each])}" for each in SPLITS if each in names),
        rows=manifest.rows,
        families=manifest.families,
        endings=", ".join(f"{name} {count}" for name, count in manifest.endings.items()),
        devices=_counted(row.device.name or "unknown" for row in rows),
        authors=_counted(
            row.author.backend + (f" ({row.author.model})" if row.author.model not in {"", row.author.backend} else "")
            for row in rows
        ),
        dates=_span([row.date[:10] for row in rows if row.date]),
        origins="\n".join(_origins(rows)),
        table="\n".join(
            f"| {each} | {sum(row.split == each for row in rows)} |"
            f" {len({row.family for row in rows if row.split == each})} |"
            for each in SPLITS
        ),
        run=RUN,
        near=NEAR,
    )


def _origins(rows: Sequence[Published]) -> list[str]:
    groups: dict[tuple[str, str], list[Published]] = {}
    for row in rows:
        groups.setdefault((row.origin.project or "unknown", row.origin.licence or "unknown"), []).append(row)
    return [
        f"| {_cell(project)} | {_cell(licence)} | {len(found)} | {len({row.mangled or row.kernel for row in found})} |"
        for (project, licence), found in sorted(groups.items())
    ]


def _preferred(names: list[str]) -> str:
    return next((name for name in names if name.endswith(".parquet")), names[0])


def _counted(values: Iterable[str]) -> str:
    return ", ".join(f"{_cell(value)} ({count})" for value, count in sorted(Counter(values).items()))


def _cell(text: str) -> str:
    """What others wrote, on one line and without Markdown's marks."""
    return re.sub(r"[|<>`\[\]*_#\\]|[^\x20-\U0010ffff]", " ", " ".join(text.split()))[:200].strip() or "unnamed"


def _span(dates: list[str]) -> str:
    return "unknown" if not dates else min(dates) if min(dates) == max(dates) else f"{min(dates)} to {max(dates)}"


def _size(rows: int) -> str:
    bounds = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for bound, name in bounds if rows < bound), "1M<n<10M")
