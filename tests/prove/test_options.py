"""What whole and short proofs are told, and what ncu is."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from optimas_lsp.config import Prove
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.options import MOST_LAUNCHES, ncu_arguments, only_timed, short_proof, timing_of, whole_proof
from optimas_lsp.prove.runner.__main__ import REQUIRED
from optimas_lsp.prove.runner.job import TIMING
from optimas_lsp.prove.target import parse_target

TARGET = parse_target(
    {
        "inputs": {"small": ["run", "small"], "default": ["run"], "large": ["run", "large"]},
        "time_input": "default",
        "sanitize_input": "small",
    },
    where="optimas.toml",
)


def test_the_settings_defaults_are_the_runners_so_a_job_says_nothing_of_them() -> None:
    assert timing_of(Prove()) == {}
    assert whole_proof(Prove(), TARGET) == {}
    assert TIMING["min_effect"] == Prove().minimum_effect


def test_what_was_set_reaches_the_runner() -> None:
    settings = Prove(minimum_effect=0.05, confidence=0.99, minimum_pairs=50, any_slower="reject", time_inputs="all")
    options = whole_proof(settings, TARGET, ["--section", "X"])
    assert options["timing"] == {
        "min_effect": 0.05,
        "level": 0.99,
        "min_pairs": 50,
        "max_pairs": 50,
        "any_slower": "reject",
        "every_input": True,
    }
    assert options["time_inputs"] == ["small", "default", "large"]
    assert options["reprofile"] == ["--section", "X"]


def test_a_short_proof_leaves_required_gates_out_and_so_never_proves() -> None:
    options = short_proof(Prove(), 1.5)
    assert {"sanitize", "plausible"} <= REQUIRED - set(options["gates"])
    assert "required" not in options
    assert options["timing"]["race"] == {"best": 1.5}
    assert "reprofile" not in options


def test_a_short_proof_is_made_on_the_timed_input() -> None:
    short = only_timed(TARGET)
    assert dict(short.inputs) == {"default": ("run",)}
    assert (short.time_input, short.sanitize_input) == ("default", None)
    assert only_timed(TARGET.model_copy(update={"time_input": None})).time_input == "small"


@pytest.fixture(scope="module")
def profile(profile_cache: Path) -> Profile:
    from optimas_lsp.config import Settings

    report = Path(__file__).resolve().parents[2] / "samples" / "accuracy" / "profile.ncu-rep"
    return load_analysis(report, Settings(), cache_dir=profile_cache)[0]


def test_ncu_is_told_the_kernels_and_how_many_launches(profile: Profile) -> None:
    name = profile.kernels[0].mangled
    arguments = ncu_arguments(profile, [name, "odd.name"])
    value = {one: two for one, two in itertools.pairwise(arguments) if one.startswith("--")}
    assert value["--kernel-name-base"] == "mangled"
    assert value["--kernel-name"] == f"regex:^({name}|odd\\.name)$"
    launches = sum(profile.kernels[each.kernel].mangled == name for each in profile.launches)
    assert int(value["--launch-count"]) == min(launches, MOST_LAUNCHES)
    assert value["--import-source"] == "yes"
    assert "--kernel-name" not in ncu_arguments(profile, [])
