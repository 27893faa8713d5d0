"""Recorded outcomes (``optimas.recorded-outcome/1``) with the report beside them, as entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optimas_lsp.corpus.convert import Context, entries_of
from optimas_lsp.corpus.dataset import DatasetError
from optimas_lsp.corpus.model import Entry
from optimas_lsp.score.recorded import recorded_rewritings


def recorded_entries(outcomes: Path, *, project: str, licence: str | None) -> list[Entry]:
    """The entries of an ``outcomes.json``; the report is the first that ``optimas.toml`` beside it names.

    Gates, times and dates are those that were recorded; evidence, guardrails and scores are today's. What has no time
    on the input that decides for its program was not measured as an attempt is, and is left out. Raises DatasetError
    for a file that is none, and what reading a report raises.
    """
    found: list[Entry] = []
    try:
        recorded: list[dict[str, Any]] = json.loads(outcomes.read_bytes())["outcomes"]
        for each in recorded_rewritings(outcomes):
            outcome = recorded[each.number - 1]
            if each.rewriting.proof is not None and each.rewriting.proof.state == "not-proven":
                continue
            dated = each.rewriting.model_copy(update={"started": str(outcome["date"])})
            context = Context(project=project, licence=licence, text=each.original)
            for entry in entries_of(dated, context=context):
                origin = entry.origin.model_copy(update={"job": str(outcome["bundle"]), "optimas": ""})
                found.append(entry.model_copy(update={"origin": origin}).keyed())
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"is no file of recorded outcomes: {error}", where=outcomes) from None
    return found
