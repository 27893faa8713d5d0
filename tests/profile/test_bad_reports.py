"""Files that are no good: each ends in a sentence that names the file and says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.errors import OptimasError, ReportError
from optimas_lsp.profile.limits import Limits
from optimas_lsp.profile.readers.container import open_container
from optimas_lsp.profile.store import open_profile

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "samples/accuracy/profile.ncu-rep"
VERSION_AT = 9
"""Byte of a report that holds the version of its format."""


@pytest.fixture(scope="module")
def good():
    """The bytes of a whole report."""
    return REPORT.read_bytes()


@pytest.fixture(scope="module")
def largest(good):
    """Where the largest message of the report starts and ends: the one launch it holds."""
    data = open_container(REPORT).results[0].data
    start = good.index(bytes(data[:200]))
    return start, start + len(data)


def sentence(path, **options) -> str:
    """What opening ``path`` says."""
    with pytest.raises(OptimasError) as caught:
        open_profile(path, cache_dir=path.parent / "cache", **options)
    said = str(caught.value)
    assert path.name in said
    assert "; " in said, "no remedy"
    return said


def put(folder, name, data) -> Path:
    """A file with ``data``."""
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["r.ncu-rep", "r.ncu-repz", "r.ncu-rep.zst", "r.optimas.json", "r.optimas.json.zst"])
def test_an_empty_file(tmp_path, name):
    assert "empty" in sentence(put(tmp_path, name, b""))


@pytest.mark.parametrize("keep", [5, 20, 300, 90_000, 0.5, -100])
def test_a_truncated_report(tmp_path, good, keep):
    keep = int(len(good) * keep) if isinstance(keep, float) else keep
    said = sentence(put(tmp_path, "cut.ncu-rep", good[:keep]))
    assert "truncated" in said
    assert "copy it again" in said


def test_a_truncated_compressed_report(tmp_path):
    packed = (ROOT / "samples/stencil/profile.ncu-repz").read_bytes()
    assert "cut.ncu-repz" in sentence(put(tmp_path, "cut.ncu-repz", packed[:-5000]))


def test_a_report_whose_last_blocks_are_missing_is_opened_with_a_warning(tmp_path, good, largest):
    profile = open_profile(put(tmp_path, "cut.ncu-rep", good[: largest[1]]), cache_dir=tmp_path / "cache")
    assert [note.code for note in profile.notes] == ["incomplete-report"]
    assert "missing" in profile.notes[0].text


@pytest.mark.parametrize("name", ["noise.ncu-rep", "noise.ncu-repz", "noise.ncu-rep.zst"])
def test_random_bytes(tmp_path, name):
    said = sentence(put(tmp_path, name, bytes(range(7, 256)) * 40))
    assert "no Nsight Compute report" in said


def test_a_launch_that_holds_noise(tmp_path, good, largest):
    start, end = largest
    noisy = good[:start] + bytes((at * 37 + 11) % 256 for at in range(end - start)) + good[end:]
    sentence(put(tmp_path, "noisy.ncu-rep", noisy))


def test_a_launch_half_of_which_was_never_written(tmp_path, good, largest):
    start, end = largest
    middle = (start + end) // 2
    said = sentence(put(tmp_path, "sparse.ncu-rep", good[:middle] + bytes(end - middle) + good[end:]))
    assert "launch 0 cannot be read" in said or "damaged" in said


def test_a_folder(tmp_path):
    folder = tmp_path / "profile.ncu-rep"
    folder.mkdir()
    assert "folder" in sentence(folder)


def test_a_missing_file(tmp_path):
    assert "no such file" in sentence(tmp_path / "absent.ncu-rep")


def test_a_pipe_is_refused_without_being_opened(tmp_path):
    pipe = tmp_path / "pipe.ncu-rep"
    os.mkfifo(pipe)
    assert "no regular file" in sentence(pipe)


def test_a_loop_of_links(tmp_path):
    one, two = tmp_path / "one.ncu-rep", tmp_path / "two.ncu-rep"
    one.symlink_to(two)
    two.symlink_to(one)
    sentence(one)


def test_a_file_this_user_may_not_read(tmp_path, good):
    path = put(tmp_path, "secret.ncu-rep", good)
    path.chmod(0)
    code = (
        "import os, sys, pathlib\n"
        "from optimas_lsp.errors import ReportError\n"
        "from optimas_lsp.profile.store import open_profile\n"
        "if os.geteuid() == 0: os.setuid(65534)  # root may read everything\n"
        "try: open_profile(pathlib.Path(sys.argv[1]))\n"
        "except ReportError as error: print(error)\n"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path(folder.anchor) and folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    said = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={"PYTHONPATH": str(ROOT), "OPTIMAS_CACHE_DIR": str(tmp_path / "cache")},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "secret.ncu-rep: may not be read by this user; run: chmod u+r" in said.stdout, said.stderr


def test_a_report_in_a_format_the_reader_does_not_know_names_both_versions(tmp_path, good):
    old = bytearray(good)
    old[VERSION_AT] = 3
    said = sentence(put(tmp_path, "old.ncu-rep", bytes(old)))
    assert "ncu 2025.3.1" in said
    assert "format 3" in said
    assert "ncu-report 20" in said


def test_a_report_in_a_newer_format_that_cannot_be_read_says_upgrade(tmp_path, good, largest):
    start, end = largest
    new = bytearray(good)
    new[VERSION_AT] = 99
    new[start:end] = bytes(end - start)  # what a reader sees of a launch laid out in a way it does not know: nothing
    said = sentence(put(tmp_path, "new.ncu-rep", bytes(new)))
    assert "ncu-report 20" in said or "SIGABRT" in said
    assert "format 99" in said or "copy the report again" in said


def test_a_report_by_a_newer_tool_that_can_be_read_carries_a_note(tmp_path, good):
    newer = good.replace(b"2025.3.1.0 (build", b"2099.3.1.0 (build")
    profile = open_profile(put(tmp_path, "newer.ncu-rep", newer), cache_dir=tmp_path / "cache")
    assert profile.tool.version == "2099.3.1"
    (note,) = (note for note in profile.notes if note.code == "newer-tool")
    assert "2099.3.1" in note.text
    assert "pip install --upgrade ncu-report" in note.text


def test_without_ncu_report_the_sentence_says_which_wheel_and_what_else_helps(tmp_path, good, monkeypatch):
    (tmp_path / "ncu_report.py").write_text("raise ImportError('no wheel for this platform')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = sentence(put(tmp_path, "r.ncu-rep", good))
    for words in ("pip install ncu-report", "Linux x86-64 and arm64", "macOS arm64", "optimas distill"):
        assert words in said


def test_a_report_under_a_wrong_suffix_opens_all_the_same(tmp_path, good):
    for name, data in (("a.ncu-repz", good), ("b.ncu-rep", zstandard.compress(good)), ("c.ncu-rep.zst", good)):
        assert len(open_profile(put(tmp_path, name, data), cache_dir=tmp_path / "cache").launches) == 1


def test_a_name_that_is_not_utf8_and_a_folder_with_odd_characters(tmp_path, good):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe \n\xe2\x82\xac"))
    folder.mkdir()
    profile = open_profile(put(folder, os.fsdecode(b"caf\xe9.ncu-rep"), good), cache_dir=tmp_path / "cache")
    assert profile.report_name == "caf�.ncu-rep"
    assert len(profile.launches) == 1


def test_a_compressed_file_that_unpacks_to_far_too_much(tmp_path):
    bomb = put(tmp_path, "bomb.ncu-rep.zst", zstandard.ZstdCompressor(level=19).compress(b"NVR\0" + bytes(64 << 20)))
    assert bomb.stat().st_size < 10_000
    assert "unpacks to more than 8 MB" in sentence(bomb, limits=Limits(unpacked_mb=8))


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=12)), min_size=1, max_size=4))
def test_the_outside_of_a_report_can_be_anything(tmp_path_factory, cuts):
    data = bytearray(REPORT.read_bytes()[:120_000])
    for where, noise in cuts:
        at = int(where * len(data))
        data[at : at + len(noise)] = noise
    path = put(tmp_path_factory.mktemp("fuzz"), "r.ncu-rep", bytes(data))
    try:
        container = open_container(path)
    except ReportError:
        return
    for result in container.results:
        assert isinstance(result.process + result.mangled, str)
        assert result.reference is None or result.reference[1] >= 0
    assert container.ncu_version
