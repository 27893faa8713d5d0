"""``optimas sass`` as a person and as a program use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.profile.store import distil_to

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
        *((["--line", f"adjacent.cu:{number}"], "not FILE:LINE") for number in ("²", "9" * 5000, "-1", "", "3.5")),
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


def hostile(place: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """A distilled profile of the sample after ``change``."""
    distil_to(Path(ADJACENT), place, cache_dir=place.parent / "cache")
    data = json.loads(place.read_text("utf-8"))
    change(data)
    place.write_text(json.dumps(data), "utf-8")
    return str(place)


def names(data: dict[str, Any]) -> None:
    kernel = data["kernels"][0]
    kernel["name"] = 'k\x1b[2J\u202e,"rows":[\n'
    kernel["code"]["sass"][0] = '\x1b]0;x\x07\u202eLDG,"rows":['
    data["files"][0]["path"] = '/a/,"rows":[\x1b\u202e.cu'
    data["report_name"] = ',"rows":['
    data["reasons"] = [f"{reason}\x1b\u202e" for reason in data["reasons"]]


def no_names(data: dict[str, Any]) -> None:
    data["files"][0]["path"] = ""
    data["kernels"][0]["code"]["sass"] = ["" for _ in data["kernels"][0]["code"]["sass"]]


def deep(data: dict[str, Any]) -> None:
    code = data["kernels"][0]["code"]
    code["chains"] = [each * 1000 for each in code["chains"]]


def before(data: dict[str, Any]) -> None:
    """The first instruction is another function's, which lies before the kernel."""
    data["kernels"][0]["code"]["offset"][0] = -64


def apart(data: dict[str, Any]) -> None:
    """The kernel's first instruction is not in the report."""
    data["kernels"][0]["code"]["offset"] = [each + 32 for each in data["kernels"][0]["code"]["offset"]]


@pytest.mark.parametrize(("change", "first"), [(before, "-0x0040"), (apart, "0x0020")])
def test_code_that_does_not_begin_with_the_kernel_is_shown_and_analysed(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], first: str
) -> None:
    report = hostile(tmp_path / "h.optimas.json", change)
    shown = RUNNER.invoke(app, ["sass", report])
    assert shown.exit_code == 0, shown.stderr
    assert f" {first}  " in shown.stdout
    assert RUNNER.invoke(app, ["analyze", report]).exit_code == 0


@pytest.mark.parametrize("change", [names, no_names, deep])
def test_whatever_things_are_called_a_line_stays_one_of_printing_characters(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    report = hostile(tmp_path / "h.optimas.json", change)
    shown = RUNNER.invoke(app, ["sass", report])
    assert shown.exit_code == 0, shown.stderr
    assert all(char.isprintable() or char == "\n" for char in shown.stdout)
    found = json.loads(RUNNER.invoke(app, ["sass", report, "--format", "json"]).stdout)
    assert [each["text"] for each in found["listing"]] == shown.stdout.split("\n")[:-1]
    assert max(len(each["text"]) for each in found["listing"]) < 1000
    refused = RUNNER.invoke(app, ["sass", report, "--line", "nowhere.cu:1"])
    assert refused.exit_code == 2
    assert len(refused.stderr.splitlines()) == 1
