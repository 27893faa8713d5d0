"""The compile gate: the right command, the real compiler, the whole log, an untouched tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from optimas_lsp.rewrite.compile import (
    Command,
    Compiled,
    commands_for,
    compile_candidate,
    find_compiler,
    relevant,
)

PROGRAM = "__global__ void k(int* a) { a[0] = 1; }\nint main() { k<<<1, 1>>>(nullptr); return 0; }\n"


@dataclass(frozen=True)
class Ended:
    status: int
    seconds: float
    stopped: str
    stdout: Path
    stderr: Path


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, name: str) -> Ended:
    out, err = log / f"{name}.out", log / f"{name}.err"
    began = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **environment}, stdout=stdout, stderr=stderr, check=False
        )
    return Ended(done.returncode, time.monotonic() - began, "", out, err)


def stopping(command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, name: str) -> Ended:
    ended = run(["true"], folder, environment, log, name)
    return Ended(-9, ended.seconds, "it ran longer than 600 s", ended.stdout, ended.stderr)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "k.cu").write_text(PROGRAM, "utf-8")
    return folder


def compiled(folder: Path, text: str, commands: Sequence[Command], runner: object = run) -> Compiled:
    if find_compiler() is None:
        pytest.skip("nvcc is not installed")
    return compile_candidate(folder, {"k.cu": text.encode()}, commands, run=runner, copy=shutil.copytree)  # type: ignore[arg-type]


def test_a_single_file_is_compiled_by_a_plain_line_in_a_copy(program: Path) -> None:
    commands = commands_for(program / "k.cu", program, capability=90)
    assert commands[0].arguments[:3] == ("nvcc", "-O3", "-arch=sm_90")
    done = compiled(program, PROGRAM.replace("= 1", "= 2"), commands)
    assert done.good, done.relevant
    assert [path.name for path in program.iterdir()] == ["k.cu"]
    assert (program / "k.cu").read_text("utf-8") == PROGRAM


def test_the_compiler_says_what_is_wrong(program: Path) -> None:
    done = compiled(program, PROGRAM.replace("a[0]", "b[0]"), commands_for(program / "k.cu", program, capability=90))
    assert done.status == "failed"
    assert 'identifier "b" is undefined' in done.relevant
    assert 'identifier "b" is undefined' in done.sentence
    assert str(program.parent) not in done.relevant


def test_the_linkers_lines_are_kept(program: Path) -> None:
    build = [["nvcc", "-arch=sm_90", "-o", "build/k", "k.cu"]]
    text = PROGRAM.replace("int main() {", "int elsewhere();\nint main() { elsewhere();")
    done = compiled(program, text, commands_for(program / "k.cu", program, build=build))
    assert done.status == "failed"
    assert "undefined reference" in done.relevant
    assert "elsewhere" in done.relevant


def test_the_targets_build_comes_first_then_the_database(program: Path) -> None:
    source = program / "k.cu"
    entry = {"directory": str(program), "file": "k.cu", "command": "nvcc -c -DX='a b' k.cu -o k.o"}
    (program / "compile_commands.json").write_text(json.dumps([entry]), "utf-8")
    assert commands_for(source, program)[0].arguments == ("nvcc", "-c", "-DX=a b", "k.cu", "-o", "k.o")
    assert commands_for(source, program)[0].source == "compile_commands.json"
    assert commands_for(source, program, build=[["make"]])[0].arguments == ("make",)
    assert commands_for(program / "k.cuh", program) == ()


def test_no_command_no_compiler_and_a_stopped_build_are_results_of_their_own(program: Path) -> None:
    assert compile_candidate(program, {}, (), run=run, copy=shutil.copytree).status == "no-command"
    commands = commands_for(program / "k.cu", program)
    assert compiled(program, PROGRAM, commands, stopping).status == "time-out"


def test_a_candidate_stays_inside_of_the_copy(program: Path) -> None:
    command = Command(arguments=("true",), source="test")
    with pytest.raises(ValueError, match="outside"):
        compile_candidate(program, {"../x.cu": b""}, (command,), run=run, copy=shutil.copytree)


def test_the_relevant_part_is_the_end_where_nothing_tells_more() -> None:
    assert relevant("a\n" * 10) == "a\n" * 9 + "a"
    assert relevant("x\n" * 5 + "k.cu(3): error: bad\n  b = 1;\n  ^\n" + "y\n" * 5).startswith("k.cu(3): error")
