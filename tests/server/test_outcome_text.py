"""The text about an outcome shows how far its reasoning followed the evidence, and says nothing where it is unknown."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "score"))
from made_outcomes import rewriting

from optimas_lsp.score import score
from optimas_lsp.server.features.outcome import outcome_text


def test_every_measure_has_its_interval_or_its_reason() -> None:
    outcome = rewriting()
    scores = score(outcome).model_dump(mode="json")
    text = outcome_text("A rewrite", json.loads(outcome.model_copy(update={"scores": scores}).model_dump_json()))
    assert "## Did the reasoning follow the evidence?" in text
    assert "**given findings that an applied change cites**: 40.0 % (2 of 5 findings; 11.8 to 76.9 %)" in text
    assert "not measurable: the kernel was not profiled again after the change" in text


def test_scores_that_are_missing_or_of_another_version_are_left_out() -> None:
    for scores in (None, {"schema": "optimas.ear/9"}, "x", {}):
        outcome = {"sentence": "a rewrite", "scores": scores}
        assert "EAR" not in outcome_text("A rewrite", outcome)
