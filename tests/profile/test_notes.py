"""What the user is told about a profile, and the fingerprints of sources that are not embedded."""

from __future__ import annotations

import hashlib
import os

import pytest

from optimas_lsp.profile.generated import is_generated
from optimas_lsp.profile.model import Frame, SourceFile
from optimas_lsp.profile.notes import annotate, line_digests


def digest(text: bytes) -> str:
    """As the model defines it."""
    return hashlib.sha256(text).hexdigest()[:8]


def with_file(make, path):
    """A profile whose one file is ``path``, its text not embedded."""
    profile = make.profile((make.kernel(cells=((0, 0, 5, 5),)),), ((0, 1.0),))
    return profile.model_copy(update={"files": (SourceFile(path=str(path)),)})


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_are_fingerprinted_without_their_ends(end):
    assert line_digests(b"a" + end + b"" + end + b"\xe9\tb" + end) == (digest(b"a"), digest(b""), digest(b"\xe9\tb"))
    assert line_digests(b"a" + end + b"b") == (digest(b"a"), digest(b"b"))
    assert line_digests(b"") == ()


def test_a_source_older_than_the_report_is_fingerprinted(make, tmp_path):
    source = tmp_path / "k.cu"
    source.write_bytes(b"one\ntwo\n")
    os.utime(source, (1000, 1000))
    (file,) = annotate(with_file(make, source), report_mtime=2000.0).files
    assert file.line_digests == (digest(b"one"), digest(b"two"))


def test_a_source_changed_since_is_not(make, tmp_path):
    source = tmp_path / "k.cu"
    source.write_bytes(b"one\n")
    os.utime(source, (3000, 3000))
    (file,) = annotate(with_file(make, source), report_mtime=2000.0).files
    assert file.line_digests is None


def test_an_embedded_text_needs_no_fingerprint(make, tmp_path):
    source = tmp_path / "k.cu"
    source.write_bytes(b"one\n")
    profile = with_file(make, source).model_copy(update={"files": (SourceFile(path=str(source), text="one\n"),)})
    assert annotate(profile, report_mtime=2e12).files == profile.files


@pytest.mark.parametrize("name", ["absent.cu", "folder", "pipe", "nul\0inside"])
def test_what_is_no_readable_file_is_left_alone(make, tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (file,) = annotate(with_file(make, f"{tmp_path}/{name}"), report_mtime=2e12).files
    assert file.line_digests is None


def test_a_relative_path_is_never_looked_up_here(make, tmp_path, monkeypatch):
    (tmp_path / "k.cu").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    (file,) = annotate(with_file(make, "k.cu"), report_mtime=2e12).files
    assert file.line_digests is None


@pytest.mark.parametrize(
    ("path", "generated"),
    [
        ("default_program", True),
        ("<string>", True),
        ("/tmp/tmpab12cd34/0badcafe.cubin.cu", True),
        ("/tmp/tmp_x12cd3z/kernel.py", True),
        ("/home/me/tmp/kernel.cu", False),
        ("/home/me/k.cu", False),
    ],
)
def test_sources_made_at_run_time_are_recognised(path, generated):
    assert is_generated(SourceFile(path=path)) is generated
    assert is_generated(SourceFile(path=path, text="x")) is False


def test_a_kernel_from_generated_source_is_named_in_a_note(make):
    kernel = make.kernel(chains=((Frame(file=2, line=3),),), cells=((0, 0, 5, 5),))
    notes = annotate(make.profile((kernel,), ((0, 1.0),)), report_mtime=0.0).notes
    (note,) = (note for note in notes if note.code == "generated-source")
    assert "default_program" in note.text
    assert "--import-source yes" in note.text
    assert note.kernel == kernel.mangled


def test_annotating_twice_says_nothing_twice(make):
    once = annotate(make.profile((make.kernel(),), ((0, 1.0),)), report_mtime=0.0)
    assert annotate(once, report_mtime=0.0) == once
    assert once.notes
