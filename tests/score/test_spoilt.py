"""Outcomes are files that others write: whatever stands in one, scoring and the page end in words, never in a crash."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import comparison, proven, rewriting, row

from optimas_lsp.errors import OptimasError
from optimas_lsp.report.html import outcome_page
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.score import explain, score
from optimas_lsp.score.words import as_text

RUNS = {"baseline": {"kernel_ns": [2000, 2100]}, "candidate": {"kernel_ns": [1000, 1010]}}
WHOLE: dict[str, Any] = json.loads(
    rewriting(
        proof=proven(gates=[{"name": "time", "status": "pass", "sentence": "faster"}]),
        compared=comparison(row("PC-1", 100, 40)).model_dump(mode="json"),
    ).model_dump_json(by_alias=True)
)
WHOLE["proof"]["details"]["timing"]["runs"] = RUNS
WHOLE["scores"] = score(Rewriting.model_validate(WHOLE)).model_dump(mode="json")


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    return [each for key in keys for each in [(*path, key), *places(data[key], (*path, key))]]


PLACES = places(WHOLE)
VALUES = (None, -1, 0, 10**9, 0.5, 1e308, "", "PC-1", "\x00\x1b[31m</script>", [], {}, True, [[]], "@@ -1 +1 @@")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES)), min_size=1, max_size=4))
def test_a_spoilt_outcome_is_refused_or_told(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data = json.loads(json.dumps(WHOLE))
    for path, value in changes:
        at = data
        try:
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    try:
        outcome = Rewriting.model_validate(data)
    except ValidationError:
        return
    with contextlib.suppress(OptimasError):
        assert as_text(score(outcome))
        explain(outcome)
        assert outcome_page(outcome).endswith("</html>\n")
