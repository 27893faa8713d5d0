"""A job is a snapshot of the program that never leads back into the user's own files, keyed by its content."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from optimas_lsp.prove import bundle
from optimas_lsp.prove.bundle import BundleError, pack, snapshot
from optimas_lsp.prove.target import parse_target

TARGET = parse_target({"inputs": {"default": ["./a"]}}, where="test")


def _program(folder: Path, *, git: bool) -> Path:
    folder.mkdir()
    (folder / "a.cu").write_text("int a;\n")
    (folder / "ignored.log").write_text("noise\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "build").mkdir()
    (folder / "build" / "a.o").write_bytes(b"object")
    if git:
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def _pack(folder: Path, job: Path, patch: dict[str, bytes]) -> str:
    return pack(folder, TARGET, patch, job, kernels=["_Z1kv"], static={"status": "pass", "sentence": "."})


def test_in_a_repository_ignored_files_stay_behind(tmp_path: Path) -> None:
    taken = snapshot(_program(tmp_path / "p", git=True), tmp_path / "tree")
    assert "a.cu" in taken
    assert "ignored.log" not in taken
    assert not (tmp_path / "tree" / "ignored.log").exists()


def test_without_a_repository_build_folders_stay_behind(tmp_path: Path) -> None:
    taken = snapshot(_program(tmp_path / "p", git=False), tmp_path / "tree")
    assert {"a.cu", "ignored.log"} <= set(taken)
    assert not any(name.startswith("build/") for name in taken)


def test_links_are_followed_only_inside_the_folder(tmp_path: Path) -> None:
    folder = _program(tmp_path / "p", git=False)
    (tmp_path / "secret").write_text("key\n")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "in").symlink_to("a.cu")
    taken = snapshot(folder, tmp_path / "tree")
    assert "out" not in taken
    assert (tmp_path / "tree" / "in").read_text() == "int a;\n"
    assert not (tmp_path / "tree" / "in").is_symlink()


def test_large_data_is_linked_and_a_patch_never_writes_through_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "LINK_ABOVE_BYTES", 4)
    folder = _program(tmp_path / "p", git=False)
    _pack(folder, tmp_path / "job", {"a.cu": b"int changed;\n"})
    assert (tmp_path / "job" / "tree" / "a.cu").is_symlink()
    subprocess.run(["python3", str(tmp_path / "job" / "runner.pyz"), str(tmp_path / "job")], check=False, timeout=60)
    assert (folder / "a.cu").read_text() == "int a;\n"


def test_the_hash_is_that_of_the_content(tmp_path: Path) -> None:
    folder = _program(tmp_path / "p", git=False)
    one = _pack(folder, tmp_path / "1", {"a.cu": b"int b;\n"})
    assert _pack(folder, tmp_path / "2", {"a.cu": b"int b;\n"}) == one
    assert _pack(folder, tmp_path / "3", {"a.cu": b"int c;\n"}) != one
    (folder / "a.cu").chmod(0o755)
    assert _pack(folder, tmp_path / "4", {"a.cu": b"int b;\n"}) != one


@pytest.mark.parametrize("name", ["../outside.cu", "/etc/passwd", "new.cu", "build/../../x"])
def test_a_candidate_changes_only_files_of_the_program(tmp_path: Path, name: str) -> None:
    folder = _program(tmp_path / "p", git=False)
    (tmp_path / "outside.cu").write_text("mine\n")
    with pytest.raises(BundleError, match="not part of the program"):
        _pack(folder, tmp_path / "job", {name: b"bad"})
    assert (tmp_path / "outside.cu").read_text() == "mine\n"


def test_the_first_input_is_timed_and_sanitized_unless_others_are_named(tmp_path: Path) -> None:
    folder = _program(tmp_path / "p", git=False)
    inputs = {"small": ["./a", "1"], "default": ["./a", "2"]}
    for number, (more, timed) in enumerate([({}, "small"), ({"time_input": "default"}, "default")]):
        target = parse_target({"inputs": inputs, **more}, where="test")
        pack(folder, target, {}, tmp_path / str(number), kernels=[], static={"status": "pass", "sentence": "."})
        packed = json.loads((tmp_path / str(number) / "job.json").read_text())["target"]
        assert (packed["time_input"], packed["sanitize_input"]) == (timed, "small")


def test_a_job_is_not_packed_over_another(tmp_path: Path) -> None:
    folder = _program(tmp_path / "p", git=False)
    _pack(folder, tmp_path / "job", {})
    with pytest.raises(BundleError, match="there is a job already"):
        _pack(folder, tmp_path / "job", {})
