"""What a campaign would take, and how far it is: as text for people and JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from optimas_lsp.campaign.ending import OPEN
from optimas_lsp.campaign.estimate import Estimate
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.progress import span
from optimas_lsp.campaign.row import Row
from optimas_lsp.report.rows import plain

AXES = (
    ("program", "programs"),
    ("kernel", "kernels"),
    ("backend", "backends"),
    ("evidence", "evidence"),
    ("input", "inputs"),
    ("repetition", "repetitions"),
    ("device", "devices"),
)

BROKEN = {"program-failed": "programs that failed unchanged", "failed": "failures"}
"""Endings whose reasons are listed, under these headings."""


def as_text(plan: Plan, found: Estimate) -> str:
    """The matrix, the counts and the bill; then every command and destination."""
    counts, campaign = plan.counts(), plan.loaded.campaign
    lines = [f"{campaign.name}: {found.experiments:,} experiments, {found.finished:,} finished"]
    for name, words in AXES:
        lines.append(f"{words:12} {counts[name]:>4}  {_values(plan, name)}")
    lines += ["", "program          kernels  inputs  experiments"]
    for program in plan.loaded.programs:
        own = [each.axes for each in plan.experiments if each.axes.program == program.entry.name]
        lines.append(
            f"{program.entry.name:16} {len({each.kernel for each in own}):>7} {len({each.input for each in own}):>7}"
            f" {len(own):>12,}"
        )
    lines.append("")
    if found.missing:
        lines.append(
            f"evidence     {found.missing:,} experiments have none of their kind in the report and end at once"
        )
    ground = "from the experiments that are finished" if found.measured else "assumed, nothing of the kind has run yet"
    lines.append(f"time         about {span(found.seconds)} with {found.workers} workers ({ground})")
    lines.append(f"cost         {_money(found)}")
    lines += [f"before       {problem}" for problem in found.problems]
    engine = campaign.engine
    lines.append(f"engine       Parsl, {engine.kind}, {found.workers} workers, {engine.retries} retries of lost ones")
    lines.append(f"results      {plan.loaded.results}")
    for folder, actions in found.actions.items():
        lines += ["", f"in {folder} it would"]
        lines += [f"- {action.sentence()}" for action in actions]
    return "\n".join(lines) + "\n"


def _values(plan: Plan, name: str) -> str:
    if name == "kernel":
        return ""
    values = list(dict.fromkeys(plain(str(getattr(each.axes, name))) for each in plan.experiments))
    shown = ", ".join(value or "(the program's own)" for value in values[:12])
    return shown + (", …" if len(values) > 12 else "")


def _money(found: Estimate) -> str:
    money = found.money
    if not money.high_tokens:
        return "nothing: no model is asked"
    tokens = f"{money.low_tokens:,} to {money.high_tokens:,} tokens"
    unknown = (
        f"; price not known of {', '.join(money.unknown)}: set price_input and price_output" if money.unknown else ""
    )
    return f"USD {money.low_usd:.2f} to {money.high_usd:.2f}, {tokens}{unknown}"


def as_json(plan: Plan, found: Estimate) -> str:
    """The same as data, with every experiment."""
    money = found.money
    data: dict[str, Any] = {
        "name": plan.loaded.campaign.name,
        "counts": plan.counts(),
        "experiments": found.experiments,
        "finished": found.finished,
        "without_evidence": found.missing,
        "seconds": round(found.seconds),
        "seconds_from": "results" if found.measured else "assumed",
        "workers": found.workers,
        "usd": [round(money.low_usd, 4), round(money.high_usd, 4)],
        "tokens": [money.low_tokens, money.high_tokens],
        "price_unknown": list(money.unknown),
        "problems": list(found.problems),
        "actions": {
            str(folder): [each.model_dump(mode="json") for each in actions] for folder, actions in found.actions.items()
        },
        "matrix": [{"key": each.key, **each.axes.plain()} for each in plan.experiments],
    }
    return json.dumps(data, indent=1) + "\n"


def status_text(total: int, rows: Sequence[Row]) -> str:
    """How many ended how, what is left, and why experiments failed."""
    lines = [f"{len(rows):,} of {total:,} experiments are finished, {total - len(rows):,} are left"]
    for ending, count in Counter(row.ending for row in rows).most_common():
        open_ = f"   (optimas campaign run --again {ending} tries them again)" if ending in OPEN else ""
        lines.append(f"{ending:12} {count:>6,}{open_}")
    for ending, heading in BROKEN.items():
        reasons = Counter(f"{plain(row.program)}: {plain(row.sentence)}" for row in rows if row.ending == ending)
        lines += ["", heading] if reasons else []
        lines += [f"{count:>6,}  {reason}" for reason, count in reasons.most_common(20)]
    return "\n".join(lines) + "\n"


def status_json(total: int, rows: Sequence[Row]) -> str:
    """The same as data."""
    endings = dict(Counter(row.ending for row in rows).most_common())
    failed = [
        {"key": row.key, "program": row.program, "ending": row.ending, "sentence": row.sentence}
        for row in rows
        if row.ending in BROKEN
    ]
    return json.dumps({"total": total, "finished": len(rows), "endings": endings, "failures": failed}, indent=1) + "\n"
