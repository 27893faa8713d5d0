"""After the build: the machine code of original and candidate is compared, with the options of the program's build."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from dialects import openai_answer
from rewriting_samples import GOOD, answer, program
from test_optimize import backend_at, profile, rewritten, said_to, task_of
from wire_server import serving

from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.building import ScratchBuilder
from optimas_lsp.rewrite.compile import Command, find_compiler
from optimas_lsp.rewrite.cubins import cubin_command
from optimas_lsp.rewrite.guard.compiled import COMPILED_RULES
from optimas_lsp.rewrite.optimize import optimize

__all__ = ["profile"]

BOUND = answer().replace("__global__ void accuracy", "__global__ void __launch_bounds__(64) accuracy")


def command(*arguments: str, folder: str = ".") -> Command:
    return Command(arguments=arguments, folder=folder, source="[target] build")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            ("nvcc", "-O3", "-arch=sm_90", "-lineinfo", "-o", "build/k", "k.cu", "-lcublas", "-L", "lib", "other.o"),
            ("nvcc", "-O3", "-lineinfo", "-cubin", "-arch=sm_90", "-o", "optimas.cubin", "k.cu"),
        ),
        (
            ("/opt/cuda/bin/nvcc", "-gencode", "arch=compute_90a,code=sm_90a", "-I", "inc.c", "-DN=4", "-c", "./k.cu"),
            ("/opt/cuda/bin/nvcc", "-I", "inc.c", "-DN=4", "-cubin", "-arch=sm_90a", "-o", "optimas.cubin", "./k.cu"),
        ),
        (
            ("nvcc", "-Xcompiler", "-fPIC", "-maxrregcount", "32", "-std=c++17", "-dc", "-rdc=true", "k.cu"),
            ("nvcc", "-Xcompiler", "-fPIC", "-maxrregcount", "32", "-std=c++17", "-rdc=true", "-cubin", "-arch=sm_90",
             "-o", "optimas.cubin", "k.cu"),
        ),
    ],
)  # fmt: skip
def test_options_that_decide_the_code_stay_and_the_rest_goes(
    tmp_path: Path, build: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    (tmp_path / "k.cu").touch()
    found = cubin_command([command("cmake", "."), command(*build)], tmp_path / "k.cu", tmp_path, 90)
    assert found is not None
    assert found.arguments == expected


def test_a_build_by_other_means_tells_no_options(tmp_path: Path) -> None:
    (tmp_path / "k.cu").touch()
    for build in (command("make"), command("nvcc", "-o", "a", "other.cu"), command("g++", "k.cu")):
        assert cubin_command([build], tmp_path / "k.cu", tmp_path, 90) is None


def test_rules_that_cannot_look_are_skipped_with_the_reason(tmp_path: Path, profile: Profile) -> None:
    found, _, _ = rewritten(program(tmp_path), profile, GOOD)
    assert found.last is not None
    assert found.last.verdict is not None
    for name in COMPILED_RULES:
        assert found.last.verdict.rule(name).status == "skipped"
        assert "no nvcc command" in found.last.verdict.rule(name).message


@pytest.mark.skipif(find_compiler() is None, reason="nvcc is not installed (pip install 'optimas-lsp[proof]')")
def test_machine_code_that_does_not_fit_goes_back_and_one_that_does_stands(tmp_path: Path, profile: Profile) -> None:
    build = [["nvcc", "-O3", "-arch=sm_90", "-lineinfo", "-o", "build/accuracy", "accuracy.cu"]]
    source = program(tmp_path, build)
    with serving(openai_answer(BOUND), openai_answer(GOOD)) as server:
        builder = ScratchBuilder.of(source.parent, source, profile, ("launch-bounds",))
        assert [each[-1] for each in builder.commands] == ["accuracy.cu", "accuracy.cu"]
        task = task_of(source, profile, allow=("launch-bounds",))
        found = asyncio.run(optimize(task, backend_at(server), builder))
    first, second = found.attempts
    assert first.stopped_at == "compile"
    assert first.compiled is not None
    assert first.compiled.good
    assert "thread-limit" in first.problem
    assert found.status == "candidate"
    assert second.verdict is not None
    assert {second.verdict.rule(name).status for name in COMPILED_RULES} == {"pass"}
    assert "is launched with 128 threads a block and is bound to 64" in said_to(server, 1)[-1][1]
    assert {path.name for path in source.parent.iterdir()} == {"accuracy.cu", "rank.cuh", "check.py", "optimas.toml"}
