"""A real report whose embedded source, or the name of a source file, is not UTF-8 opens like any other."""

from pathlib import Path

import pytest

from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.store import open_profile

pytest.importorskip("ncu_report", reason="reading a .ncu-rep needs the ncu-report package")

REPORT = Path(__file__).parents[2] / "samples" / "accuracy" / "profile.ncu-rep"


def opened(tmp_path: Path, old: bytes, new: bytes) -> Profile:
    """The sample's profile after ``old`` gave way to ``new`` (equally long) in the report's bytes."""
    data = REPORT.read_bytes()
    assert old in data
    assert len(old) == len(new)
    report = tmp_path / "foreign.ncu-rep"
    report.write_bytes(data.replace(old, new))
    open_profile(report, cache_dir=tmp_path / "cache")
    return open_profile(report, cache_dir=tmp_path / "cache")


def test_an_embedded_latin_1_source_is_read_as_latin_1(tmp_path: Path) -> None:
    profile = opened(tmp_path, b"bool outranks", "böol outranks".encode("latin-1"))
    (text,) = [file.text for file in profile.files if file.path.endswith("rank.cuh")]
    assert text is not None
    assert "böol outranks" in text


def test_a_source_file_name_that_is_not_utf_8_is_kept_readable(tmp_path: Path) -> None:
    profile = opened(tmp_path, b"/rank.cuh", b"/r\xe4nk.cuh")
    assert any(file.path.endswith("/r\ufffdnk.cuh") and file.text for file in profile.files)
