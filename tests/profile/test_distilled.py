"""The portable form: what is written opens again, anywhere; what is no such file is refused in a sentence."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.cli.schema import json_schema
from optimas_lsp.errors import ReportError
from optimas_lsp.profile import distilled
from optimas_lsp.profile.consistency import first_flaw
from optimas_lsp.profile.limits import Limits
from optimas_lsp.profile.store import distil_to, open_profile

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "samples/accuracy/profile.ncu-rep"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the sample distilled both ways."""
    folder = tmp_path_factory.mktemp("distilled")
    for name in ("p.optimas.json", "p.optimas.json.zst"):
        distil_to(REPORT, folder / name, cache_dir=folder / "cache")
    return folder


@pytest.fixture(scope="module")
def plain(place):
    """The distilled sample as data."""
    return json.loads((place / "p.optimas.json").read_text("utf-8"))


def refusal(folder, data, name="x.optimas.json", **options) -> str:
    """What opening a file with ``data`` says."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    with pytest.raises(ReportError) as caught:
        open_profile(path, **options)
    assert name in str(caught.value)
    assert "; " in str(caught.value), "no remedy"
    return str(caught.value)


@pytest.mark.parametrize("name", ["p.optimas.json", "p.optimas.json.zst"])
def test_it_opens_to_what_the_report_opens_to(place, name):
    assert open_profile(place / name) == open_profile(REPORT, cache_dir=place / "cache")


def test_it_opens_without_any_nvidia_package(place):
    code = (
        "import sys, pathlib\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('ncu_report'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "from optimas_lsp.profile.store import open_profile\n"
        "print(len(open_profile(pathlib.Path(sys.argv[1])).launches))\n"
        "assert not any(name.startswith('ncu_report') for name in sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(place / "p.optimas.json.zst")],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert (said.stdout, said.stderr) == ("1\n", "")


def test_it_agrees_with_the_published_schema(plain):
    jsonschema.validate(plain, json_schema("profile"))


def test_it_is_far_smaller_than_the_report(place):
    # Most of a lean report is counters; what is left is what a person needs.
    assert (place / "p.optimas.json.zst").stat().st_size < REPORT.stat().st_size / 4


def test_a_newer_format_says_upgrade(tmp_path, plain):
    said = refusal(tmp_path, {**plain, "schema_version": "optimas.profile/9"})
    assert "optimas.profile/9" in said
    assert "newer" in said
    assert "pip install --upgrade optimas-lsp" in said


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b"null", b"{", b"\xff\xfe\x00", b'"' + b"a" * 1000, b"[" * 100_000, b"9" * 100_000]
)
def test_other_json_and_no_json(tmp_path, data):
    assert "no valid distilled profile" in refusal(tmp_path, data)


def test_an_unknown_key_is_named(tmp_path, plain):
    assert "surprise" in refusal(tmp_path, {**plain, "surprise": 1})


@pytest.mark.parametrize(
    ("change", "place_named"),
    [
        (lambda data: data["launches"][0].update(kernel=7), "launches[0].kernel: 7 is not below 1"),
        (lambda data: data["kernels"][0]["samples"]["reason"].__setitem__(0, 99), "samples.reason: 99"),
        (lambda data: data["kernels"][0]["samples"]["instruction"].__setitem__(0, -1), "samples.instruction: -1"),
        (lambda data: data["kernels"][0]["samples"]["all"].__setitem__(0, -5), "samples.all: -5"),
        (lambda data: data["kernels"][0]["samples"]["all"].pop(), "samples.all:"),
        (lambda data: data["kernels"][0]["code"]["chain"].__setitem__(0, 10**6), "code.chain: 1000000"),
        (lambda data: data["kernels"][0]["code"]["offset"].__setitem__(3, 0), "code.offset: not ascending"),
        (lambda data: data["kernels"][0]["code"]["executed"].pop(), "code.executed:"),
        (lambda data: data["kernels"][0]["code"]["chains"][0][0].update(file=55), "code.chains[0].file: 55"),
        (lambda data: data["launches"][0]["counters"].pop(), "launches[0].counters:"),
        (lambda data: data["launches"][0]["rules"].append(4000), "launches[0].rules: 4000"),
        (lambda data: data["kernels"][0]["code"].update(executed=[]), "code.executed: 0 entries"),
        (lambda data: data["kernels"][0]["code"]["executed"].__setitem__(0, -1), "code.executed: -1"),
        (lambda data: data["kernels"][0]["code"]["offset"].__setitem__(0, -(2**64)), "code.offset: -18446744"),
        (lambda data: data["kernels"][0]["code"]["offset"].__setitem__(-1, 10**400), "of more than 64 bits"),
        (lambda data: data["kernels"][0]["samples"]["all"].__setitem__(0, 10**400), "of more than 64 bits"),
        (lambda data: data["kernels"][0]["code"]["chains"][0][0].update(line=-5), "code.chains[0].line: -5"),
        (lambda data: data["kernels"][0]["code"]["chains"][0].extend(data["kernels"][0]["code"]["chains"][0] * 1000),
         "frames, more than 1000"),
        (lambda data: data["launches"][0]["grid"].__setitem__(0, -1), "launches[0].grid: -1"),
        (lambda data: data["launches"][0].update(duration_ns=float("nan")), "launches[0].duration_ns: nan"),
        (lambda data: data["launches"][0].update(duration_ns=-1.0), "launches[0].duration_ns: -1.0"),
        (lambda data: data["launches"][0]["counters"].__setitem__(0, float("inf")), "launches[0].counters: inf"),
        *((lambda data, share=share: data["kernels"][0]["code"].update(causes=[
            {"consumer": 1, "reason": 0, "producer": 0, "share": share, "kind": "raw", "confidence": "certain"}]),
           f"code.causes.share: {share}") for share in (float("nan"), float("inf"), -1.0, 1.5)),
    ],
)  # fmt: skip
def test_an_index_that_leads_nowhere_is_named(tmp_path, plain, change, place_named):
    data = json.loads(json.dumps(plain))
    change(data)
    assert place_named in refusal(tmp_path, data)


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    assert "more than the 1 MB allowed" in refusal(tmp_path, b" " * (2 << 20), limits=Limits(unpacked_mb=1))


def test_a_zstd_bomb_is_stopped(tmp_path):
    bomb = zstandard.ZstdCompressor(level=19).compress(b"[" + b" " * (64 << 20))
    said = refusal(tmp_path, bomb, "x.optimas.json.zst", limits=Limits(unpacked_mb=4))
    assert "unpacks to more than 4 MB" in said


def test_a_damaged_compressed_file(tmp_path, place):
    packed = bytearray((place / "p.optimas.json.zst").read_bytes())
    packed[len(packed) // 2] ^= 0xFF
    refusal(tmp_path, bytes(packed), "x.optimas.json.zst")
    refusal(tmp_path, bytes(packed[:-50]), "x.optimas.json.zst")


@settings(max_examples=60, deadline=None)
@given(at=st.floats(0, 1), noise=st.binary(min_size=1, max_size=6))
def test_any_damage_is_refused_or_harmless(place, at, noise):
    data = bytearray((place / "p.optimas.json").read_bytes())
    start = int(at * len(data))
    data[start : start + len(noise)] = noise
    with contextlib.suppress(ReportError):
        assert first_flaw(distilled.parse(bytes(data), Path("x.optimas.json"))) is None


def test_another_ending_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ReportError, match=r"ends in \.optimas\.json"):
        distil_to(tmp_path / "absent.ncu-rep", tmp_path / "out.json")


def test_a_folder_that_cannot_be_written_is_named(place):
    with pytest.raises(ReportError, match="cannot be written"):
        distil_to(REPORT, place / "absent" / "out.optimas.json", cache_dir=place / "cache")
