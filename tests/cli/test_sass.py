"""``optimas sass`` as a person and as a program use it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app

RUNNER = CliRunner()
SAMPLES = Path(__file__).parents[2] / "samples"
ADJACENT = str(SAMPLES / "adjacent" / "profile.ncu-repz")


def test_source_lines_stand_above_their_instructions() -> None:
    result = RUNNER.invoke(app, ["sass", ADJACENT])
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    at = next(at for at, each in enumerate(lines) if each.startswith("adjacent.cu:35 "))
    assert "out[i] = in[i] - in[i - 1];" in lines[at]
    assert "0x" in lines[at + 1]


def test_one_line_is_shown_with_what_it_waits_for() -> None:
    result = RUNNER.invoke(app, ["sass", ADJACENT, "--line", "adjacent.cu:39"])
    assert result.exit_code == 0, result.stderr
    assert next(each for each in result.stdout.splitlines() if "0x" in each).endswith("EXIT")


def test_json_is_the_published_schema_and_holds_the_listing() -> None:
    result = RUNNER.invoke(app, ["sass", str(SAMPLES / "shmem" / "profile.ncu-repz"), "--format", "json"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    schema = json.loads(RUNNER.invoke(app, ["schema", "sass"]).stdout)
    jsonschema.Draft202012Validator(schema).validate(found)
    assert len(found["rows"]) == len([each for each in found["listing"] if each["row"] is not None])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--line", "adjacent.cu"], "not FILE:LINE"),
        (["--line", "adjacent.cu:1"], "it has code from the lines 26"),
        (["--line", "other.cu:3"], "it has code from: adjacent.cu"),
        (["--kernel", "no_such_kernel"], "the report's kernels are: adjacent_kernel"),
        (["--kernel", "("], "not a regular expression"),
    ],
)
def test_what_cannot_be_shown_is_said_with_what_can(arguments: list[str], words: str) -> None:
    result = RUNNER.invoke(app, ["sass", ADJACENT, *arguments])
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
