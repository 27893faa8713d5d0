"""A record's key is about what is proven: reports and settings do not change it, content and commands do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove import key
from optimas_lsp.prove.bundle import pack
from optimas_lsp.prove.target import parse_target

TABLE: dict[str, Any] = {
    "build": [["make"]],
    "inputs": {"small": ["./a", "1"], "large": ["./a", "9"]},
    "ignore": ["^time"],
}
SAME: dict[str, Any] = {"kernels": ["_Z1kv"], "static": {"status": "pass", "sentence": "."}}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "a.cu").write_text("int a;\n")
    (folder / "b.cuh").write_text("int b;\n")
    return folder


def key_of(program: Path, table: dict[str, Any] | None = None, text: bytes = b"int c;\n", **rest: Any) -> str:
    job = program.parent / f"job-{len(list(program.parent.iterdir()))}"
    target = parse_target({**TABLE, **(table or {})}, where="optimas.toml")
    pack(program, target, {"a.cu": text}, job, **{**SAME, **rest})
    specification = json.loads((job / "job.json").read_text("utf-8"))
    specification.pop("hash")
    return key.key_of(job, specification)


@pytest.mark.parametrize("name", ["optimas.toml", "new.ncu-rep", "reports/new.ncu-repz", "a.optimas.json"])
def test_a_report_or_the_configuration_beside_the_program_changes_nothing(program: Path, name: str) -> None:
    before = key_of(program)
    (program / name).parent.mkdir(exist_ok=True)
    (program / name).write_text("[rewrite]\n")
    assert key_of(program) == before


def test_files_that_the_target_excludes_change_nothing(program: Path) -> None:
    excluded = {"exclude": ["outcomes.json", "notes/*"]}
    before = key_of(program, excluded)
    (program / "outcomes.json").write_text("{}")
    (program / "notes").mkdir()
    (program / "notes" / "today.md").write_text("x")
    assert key_of(program, excluded) == before
    assert key_of(program) != before


@pytest.mark.parametrize(
    "how",
    [
        {"options": {"timing": {"min_pairs": 3}}},
        {"ceiling_speedup": 2.0},
        {"static": {"status": "pass", "sentence": "flagged: restrict"}},
        {"kernels": ["_Z1kv", "_Z1kv"]},
        {"table": {"time_input": "large", "time_limit_s": 5, "kernels": ["k"]}},
    ],
)
def test_how_it_is_proven_is_no_part_of_the_key(program: Path, how: dict[str, Any]) -> None:
    assert key_of(program, **how) == key_of(program)


@pytest.mark.parametrize(
    "what",
    [
        {"text": b"int d;\n"},
        {"kernels": ["_Z1jv"]},
        *(
            {"table": {name: value}}
            for name, value in {
                "build": [["make", "fast"]],
                "inputs": {"small": ["./a", "2"]},
                "outputs": ["stdout", "out.txt"],
                "ignore": [],
                "tolerance": {"relative": 0.1},
                "binary": "a",
            }.items()
        ),
    ],
)
def test_what_is_proven_is(program: Path, what: dict[str, Any]) -> None:
    assert key_of(program, **what) != key_of(program)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "b.cuh").write_text("int B;\n"),
        lambda folder: (folder / "b.cuh").rename(folder / "B.cuh"),
        lambda folder: (folder / "b.cuh").chmod(0o755),
        lambda folder: (folder / "data.txt").write_text("1\n"),
    ],
)
def test_every_file_of_the_program_is(program: Path, change: Callable[[Path], object]) -> None:
    before = key_of(program)
    change(program)
    assert key_of(program) != before
