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
    subprocess.run(["python3", str(tmp_path / "job" / "runner.pyz"), str(tmp_path / "job")], check=False, timeout=180)
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


def _git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, "-C", str(folder), *words], check=True, capture_output=True)


def test_a_repository_cannot_have_its_own_commands_run(tmp_path: Path) -> None:
    folder = _program(tmp_path / "p", git=True)
    _git(folder, "add", ".")
    _git(folder, "config", "core.fsmonitor", f"touch {tmp_path / 'ran'}; false")
    assert "a.cu" in snapshot(folder, tmp_path / "tree")
    assert not (tmp_path / "ran").exists()


def test_a_hook_that_calls_us_does_not_lead_to_its_own_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, folder = _program(tmp_path / "other", git=True), _program(tmp_path / "p", git=True)
    (other / "foreign.cu").write_text("int b;\n")
    _git(other, "add", ".")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert set(snapshot(folder, tmp_path / "tree")) == {".gitignore", "a.cu", "build/a.o"}


def test_submodules_come_along_and_ignored_files_of_theirs_do_not(tmp_path: Path) -> None:
    library, folder = _program(tmp_path / "library", git=True), _program(tmp_path / "p", git=True)
    _git(library, "add", "a.cu", ".gitignore")
    _git(library, "commit", "-m", "x")
    _git(folder, "submodule", "add", str(library), "lib")
    (folder / "lib" / "noise.log").write_text("noise\n")
    (folder / "empty").mkdir()
    taken = snapshot(folder, tmp_path / "tree")
    assert (tmp_path / "tree" / "lib" / "a.cu").read_text() == "int a;\n"
    assert "lib/noise.log" not in taken


def test_a_submodule_that_was_not_fetched_brings_nothing(tmp_path: Path) -> None:
    library, folder = _program(tmp_path / "library", git=True), _program(tmp_path / "p", git=True)
    _git(library, "add", "a.cu")
    _git(library, "commit", "-m", "x")
    _git(folder, "submodule", "add", str(library), "lib")
    _git(folder, "add", ".")
    _git(folder, "commit", "-m", "x")
    _git(tmp_path, "clone", str(folder), "clone")
    assert "lib/a.cu" not in snapshot(tmp_path / "clone", tmp_path / "tree")


@pytest.mark.parametrize("git", [False, True])
def test_a_link_to_a_folder_inside_stands_for_its_files(tmp_path: Path, git: bool) -> None:
    folder = _program(tmp_path / "p", git=git)
    (folder / "v 2ü").mkdir()
    (folder / "v 2ü" / "n.h").write_text("int n;\n")
    (folder / "include").symlink_to("v 2ü")
    (folder / "around").symlink_to(".")
    taken = snapshot(folder, tmp_path / "tree")
    assert (tmp_path / "tree" / "include" / "n.h").read_text() == "int n;\n"
    assert not any(each.startswith("around") for each in taken)


def test_a_job_says_what_code_and_which_links_it_is_without(tmp_path: Path) -> None:
    folder = _program(tmp_path / "p", git=False)
    (folder / "tuned.h").write_text("#define FAST 1\n")
    (folder / "data").symlink_to(tmp_path)
    target = TARGET.model_copy(update={"exclude": ("*.h", "*.log")})
    pack(
        folder, target, {"a.cu": b"int b;\n"}, tmp_path / "job", kernels=[], static={"status": "pass", "sentence": "."}
    )
    assert json.loads((tmp_path / "job" / "job.json").read_text())["left_out"] == [
        "code that target.exclude leaves out of both versions: tuned.h",
        "links that lead out of the program's folder and are left out: data",
    ]


def test_a_change_reaches_a_file_by_each_of_its_names(tmp_path: Path) -> None:
    """The build may use another name than the one that was edited; both versions would then be the same."""
    folder = _program(tmp_path / "p", git=True)
    (folder / "src").mkdir()
    (folder / "src" / "k.cu").write_text("int k;\n")
    (folder / "s2").symlink_to("src")
    (folder / "k.cu").symlink_to("src/k.cu")
    _pack(folder, tmp_path / "job", {"s2/k.cu": b"int z;\n"})
    assert json.loads((tmp_path / "job" / "job.json").read_text())["files"] == ["k.cu", "s2/k.cu", "src/k.cu"]
    assert (tmp_path / "job" / "patch" / "src" / "k.cu").read_bytes() == b"int z;\n"
