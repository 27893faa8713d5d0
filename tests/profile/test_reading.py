"""Reading real reports, compared with a plain walk that shares no code with the reader."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from optimas_lsp.profile.aggregate import aggregate
from optimas_lsp.profile.consistency import first_flaw
from optimas_lsp.profile.store import open_profile

SAMPLES = Path(__file__).parents[2] / "samples"
NAIVE = Path(__file__).with_name("naive_walk.py")
COMPARED = ("accuracy/profile.ncu-rep", "stencil/profile.ncu-repz", "softmax_triton/profile.ncu-repz")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache folder that the tests of this module share."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=COMPARED)
def both(request, cache):
    """A sample's profile and what the plain walk says of the same file."""
    report = SAMPLES / request.param
    said = subprocess.run([sys.executable, str(NAIVE), str(report)], capture_output=True, check=True, timeout=100)
    return open_profile(report, cache_dir=cache), json.loads(said.stdout)


def test_names_and_shapes_of_launches_agree(both):
    profile, walked = both
    assert len(profile.launches) == len(walked)
    for launch, said in zip(profile.launches, walked, strict=True):
        kernel = profile.kernels[launch.kernel]
        assert (kernel.mangled, kernel.base_name) == (said["mangled"], said["base"])
        assert kernel.name == (said["demangled"] or said["mangled"])
        assert (list(launch.grid), list(launch.block)) == (said["grid"], said["block"])
        assert launch.duration_ns == said["numbers"]["gpu__time_duration.sum"]


def test_samples_agree_per_reason(both):
    profile, walked = both
    for at, kernel in enumerate(profile.kernels):
        expected = {part: Counter() for part in ("all", "not_issued")}
        for launch, said in zip(profile.launches, walked, strict=True):
            if launch.kernel == at:
                for part, counts in expected.items():
                    counts.update(said["reasons"][part])
        found = {part: Counter() for part in ("all", "not_issued")}
        for reason, every, idle in zip(
            kernel.samples.reason, kernel.samples.all_, kernel.samples.not_issued, strict=True
        ):
            found["all"][profile.reasons[reason]] += every
            found["not_issued"][profile.reasons[reason]] += idle
        assert {part: +counts for part, counts in found.items()} == {part: +counts for part, counts in expected.items()}


def test_samples_agree_per_line(both):
    profile, walked = both
    for at, _ in enumerate(profile.kernels):
        expected: Counter[tuple[str, int]] = Counter()
        for launch, said in zip(profile.launches, walked, strict=True):
            if launch.kernel == at:
                for file, line, samples in said["lines"]:
                    expected[file, line] += samples
        sums = aggregate(profile, at)
        assert {(profile.files[item.file].path, item.line): item.samples for item in sums.lines} == {
            key: value for key, value in expected.items() if key[1] > 0
        }
        assert sums.total == expected.total()


def test_execution_counts_agree(both):
    profile, walked = both
    for at, kernel in enumerate(profile.kernels):
        mine = [said for launch, said in zip(profile.launches, walked, strict=True) if launch.kernel == at]
        for name, values in (
            ("inst_executed", kernel.code.executed),
            ("thread_inst_executed_true", kernel.code.thread_executed),
            ("memory_l2_theoretical_sectors_global", kernel.code.metrics["memory_l2_theoretical_sectors_global"]),
        ):
            assert sum(values) == sum(said["executed"][name] for said in mine)


def test_every_number_of_every_launch_is_kept_with_unit_and_description(both):
    profile, walked = both
    for launch, said in zip(profile.launches, walked, strict=True):
        found = {
            info.name: value for info, value in zip(profile.metrics, launch.counters, strict=True) if value is not None
        }
        wanted = {
            name: value
            for name, value in said["numbers"].items()
            if not name.startswith(("device__attribute_", "smsp__pcsamp_warps_issue_stalled_", "breakdown:", "group:"))
        }
        assert found == wanted
        for info in profile.metrics:
            if info.name in found:
                assert (info.unit, info.description) == (
                    said["units"][info.name],
                    said["descriptions"][info.name],
                )
        attribute = said["numbers"]["device__attribute_clock_rate"]
        assert profile.device.attributes["clock_rate"] == attribute


def test_rules_keep_their_speedups_and_lose_their_link_marks(both):
    profile, walked = both
    for launch, said in zip(profile.launches, walked, strict=True):
        rules = [profile.rules[at] for at in launch.rules]
        assert sorted((rule.identifier, rule.speedup_percent or 0) for rule in rules) == sorted(
            (name, speedup or 0) for name, speedup in said["rules"]
        )
        assert not any("@section:" in rule.message or "@url:" in rule.message for rule in rules)


def test_embedded_sources_agree(both):
    profile, walked = both
    texts = {path: text for said in walked for path, text in said["files"].items()}
    for file in profile.files:
        assert (file.text or "") == texts.get(file.path, "")


def test_profiles_keep_the_promises_of_the_model(both):
    profile, _ = both
    assert first_flaw(profile) is None
    assert (profile.tool.name, profile.tool.version) == ("ncu", "2025.3.1")
    assert (profile.device.name, profile.device.compute_capability) == ("NVIDIA H200", (9, 0))


def test_each_kernel_comes_with_the_module_it_ran(both):
    profile, _ = both
    modules = {module.sha256: module.elf for module in profile.modules}
    for kernel in profile.kernels:
        assert kernel.mangled.encode() in modules[kernel.code.module]
        assert modules[kernel.code.module].startswith(b"\x7fELF")


def test_instructions_are_the_whole_function_from_its_first_one(both):
    profile, _ = both
    for kernel in profile.kernels:
        assert kernel.code.offset == tuple(range(0, 16 * len(kernel.code.offset), 16))
        assert all(kernel.code.sass)
        assert any("EXIT" in text for text in kernel.code.sass)


def test_branch_targets_are_offsets_in_the_function(cache):
    code = open_profile(SAMPLES / "accuracy/profile.ncu-rep", cache_dir=cache).kernels[0].code
    branches = [text for text in code.sass if text.split()[-2:-1] == ["BRA"] and text.split()[-1].startswith("0x")]
    assert branches
    assert all(int(text.split()[-1], 16) in code.offset for text in branches)


def test_launches_of_one_kernel_are_joined(cache):
    profile = open_profile(SAMPLES / "sweep/profile.ncu-repz", cache_dir=cache)
    assert (len(profile.launches), len(profile.kernels)) == (128, 8)
    assert [launch.index for launch in profile.launches] == list(range(128))
    for at, kernel in enumerate(profile.kernels):
        launches = [launch for launch in profile.launches if launch.kernel == at]
        assert len(launches) == 16
        assert sum(kernel.samples.all_) == sum(launch.samples_total for launch in launches)
        assert sum(kernel.samples.not_issued) == sum(launch.samples_not_issued for launch in launches)
        assert kernel.sampling_interval_ns == pytest.approx(1050, rel=0.6)


def test_kernels_of_one_base_name_stay_apart(cache):
    templates = open_profile(SAMPLES / "shmem/profile.ncu-repz", cache_dir=cache).kernels
    spaces = open_profile(SAMPLES / "stencil/profile.ncu-repz", cache_dir=cache).kernels
    for kernels in (templates, spaces):
        assert len({kernel.base_name for kernel in kernels}) == 1
        assert len({kernel.mangled for kernel in kernels}) == len(kernels) == 2
        assert len({kernel.code.sha256 for kernel in kernels}) == 2


@pytest.mark.parametrize(
    ("report", "code", "words"),
    [
        ("accuracy/profile-basic.ncu-rep", "basic-set", "--section SourceCounters"),
        ("accuracy/profile-nolineinfo.ncu-repz", "no-lineinfo", "-lineinfo"),
        ("accuracy/sweep.ncu-repz", "no-samples", "no PC samples"),
        ("cub_adjacent/profile.ncu-repz", "no-source", "--import-source yes"),
    ],
)
def test_what_a_report_lacks_is_said_in_words(cache, report, code, words):
    notes = {note.code: note.text for note in open_profile(SAMPLES / report, cache_dir=cache).notes}
    assert words in notes[code]


def test_without_line_information_every_sample_is_unattributed(cache):
    sums = aggregate(open_profile(SAMPLES / "accuracy/profile-nolineinfo.ncu-repz", cache_dir=cache), 0)
    assert sums.total == sums.unattributed > 10_000
    assert [item.why for item in sums.why_unattributed] == ["no-lineinfo"]
