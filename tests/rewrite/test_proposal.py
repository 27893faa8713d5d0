"""The schema of an answer: what it takes, what it refuses, how it reads back."""

from __future__ import annotations

import json

import jsonschema
import pytest
from pydantic import ValidationError

from optimas_lsp.cli.schema import json_schema
from optimas_lsp.rewrite.proposal import Change, FunctionText, Idea, Proposal


def a_proposal() -> Proposal:
    return Proposal(
        functions=(FunctionText(function="model::advance", text="__global__ void advance() {}"),),
        changes=(
            Change(
                function="model::advance",
                original_lines=(3, 5),
                evidence=("PC-1",),
                transformation="unroll",
                reason="the loop waits for one load at a time",
            ),
        ),
        not_applied=(Idea(transformation="tiling", reason="no reuse"),),
    )


def test_a_proposal_reads_back_as_it_was_written() -> None:
    written = a_proposal().model_dump_json()
    assert Proposal.model_validate_json(written) == a_proposal()
    assert json.loads(written)["schema"] == "optimas.proposal/1"


def test_what_is_written_fits_the_published_schema() -> None:
    schema = json_schema("proposal")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(a_proposal().model_dump_json()), schema)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="extra"):
        Proposal.model_validate({"functions": [], "build_flags": "-use_fast_math"})
