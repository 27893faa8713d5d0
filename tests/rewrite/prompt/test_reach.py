"""Which code a prompt shows, in programs of several files, and where evidence stands after the file was edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from prompt_samples import SAMPLES, blocks

from optimas_lsp.config import Settings
from optimas_lsp.errors import SourceError
from optimas_lsp.insight.evidence import KernelAnalysis, SampleTotals
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.choice import KernelChoiceError, choose
from optimas_lsp.rewrite.prompt import Prompt, build_prompt
from optimas_lsp.rewrite.prompt_files import Files
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_reach import Reach, reach
from optimas_lsp.source.paths import PathMapper

PROGRAM = {
    "main.cu": """\
#include <cstdio>
#include "math/ops.cuh"
#include "../outside.cuh"
#define UNUSED 1
#define SCALE(x) ((x) * kFactor)
constexpr float kFactor = 2.0f;
constexpr float kOther = 3.0f;
struct Pair { float a, b; };
struct Unused { int x; };
namespace one { __device__ float twist(float x) { return x + 1; } }
namespace two { __device__ float twist(float x) { return x - 1; } }
__device__ float never(float x) { return x; }
float host_only(float x) { return x; }
__global__ void other(float* x) { x[0] = never(x[0]); }
__global__ void kernel(Pair* p, float* x)
{
    int i = threadIdx.x;
    x[i] = SCALE(one::twist(ops::shape(p[i].a)));
}
int main() { printf("secret"); return 0; }
""",
    "math/ops.cuh": """\
#include "deep.cuh"
#include "ops.cuh"
namespace ops {
using real = float;
__device__ inline real shape(real x) { return deeper(x, 1.0f) + deeper(x); }
__device__ inline real idle(real x) { return x; }
}
""",
    "math/deep.cuh": """\
__device__ float deeper(float x, float y) { return x * y; }
__device__ float deeper(float x) { return x; }
""",
}


def reached(folder: Path, profile: Profile) -> Reach:
    for name, text in PROGRAM.items():
        (folder / "program" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "program" / name).write_text(text, "utf-8")
    (folder / "outside.cuh").write_text("__device__ float twist(float x) { return 0; }\n", "utf-8")
    files = Files([folder / "program"])
    unit = files.unit(folder / "program" / "main.cu")
    assert unit is not None
    totals = SampleTotals(total=0, stalled=0, not_issued=0, unattributed=0)
    analysis = KernelAnalysis(
        name="kernel(Pair*, float*)", mangled="k", base_name="kernel", launches=1, gpu_time_ns=None, share=None,
        hot=True, grid=(1, 1, 1), block=(1, 1, 1), samples=totals, evidence=(),
    )  # fmt: skip
    kernel = next(each for each in unit.syntax.kernels if each.name == "kernel")
    return reach(unit, kernel, analysis, Marks(profile, files))


def test_calls_are_followed_over_files_namespaces_and_overloads(tmp_path: Path, read: Callable[[str], Profile]) -> None:
    found = reached(tmp_path, read("accuracy"))
    shown = [(each.unit.name, each.first) for each in found.functions]
    assert shown == [
        ("main.cu", 15), ("main.cu", 10), ("math/ops.cuh", 5), ("math/deep.cuh", 1), ("math/deep.cuh", 2),
    ]  # fmt: skip
    assert [each.shown_name for each in found.changeable] == ["kernel", "one::twist"]


def test_names_the_code_relies_on_are_declared_and_no_others(tmp_path: Path, read: Callable[[str], Profile]) -> None:
    found = reached(tmp_path, read("accuracy"))
    lines = {each.unit.syntax.text.line(each.first) for each in found.declarations}
    assert lines == {
        "#define SCALE(x) ((x) * kFactor)",
        "constexpr float kFactor = 2.0f;",
        "struct Pair { float a, b; };",
        "using real = float;",
    }


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, read: Callable[[str], Profile]) -> None:
    found = reached(tmp_path, read("accuracy"))
    assert all(each.unit.path.resolve().is_relative_to(tmp_path / "program") for each in found.functions)


def prompt_of(folder: Path, profile: Profile, text: str) -> Prompt:
    sample = SAMPLES["accuracy"]
    (folder / "accuracy.cu").write_text(text, "utf-8")
    (folder / "rank.cuh").write_bytes((sample.folder / "rank.cuh").read_bytes())
    subject = choose(
        profile,
        Settings(),
        report=sample.report,
        source=folder / "accuracy.cu",
        files=Files([folder]),
        resolve=PathMapper([folder]).path_of,
    )
    return build_prompt(subject)


def test_after_an_edit_lines_are_todays_and_changed_ones_lose_theirs(
    tmp_path: Path, read: Callable[[str], Profile]
) -> None:
    text = SAMPLES["accuracy"].source.read_text("utf-8")
    moved = prompt_of(tmp_path, read("accuracy"), "// one\n// two\n// three\n" + text)
    assert "BL-1 [act] long_scoreboard at accuracy.cu:43:" in moved.user
    assert "because of accuracy.cu:43 LDG" in moved.user
    assert moved.notes
    changed = prompt_of(tmp_path, read("accuracy"), text.replace("float score = scores[", "float  score = scores["))
    assert "BL-1 [act] long_scoreboard at accuracy.cu (line 40 when profiled, changed):" in changed.user
    own = next(lines for _, title, lines in blocks(changed.user) if title.startswith("source"))
    assert not any("BL-1" in line for line in own)
    assert prompt_of(tmp_path, read("accuracy"), text).notes == ()


def test_the_kernel_that_is_meant_is_found_or_the_choices_are_named(read: Callable[[str], Profile]) -> None:
    sample = SAMPLES["shmem"]
    subject = sample.subject(read("shmem"))
    assert "float" in subject.kernel.name
    for pattern, error, words in [
        ("nothing_like_it", KernelChoiceError, "the report's kernels are"),
        ("(", KernelChoiceError, "not a regular expression"),
    ]:
        with pytest.raises(error, match=words):
            choose(
                read("shmem"), Settings(), report=sample.report, source=sample.source, files=Files([sample.folder]),
                resolve=PathMapper([sample.folder]).path_of, pattern=pattern,
            )  # fmt: skip


def test_a_header_that_the_kernel_uses_may_be_the_file_to_change(read: Callable[[str], Profile]) -> None:
    sample = replace(SAMPLES["accuracy"], source=SAMPLES["accuracy"].folder / "rank.cuh")
    prompt = build_prompt(sample.subject(read("accuracy")))
    assert (prompt.source, prompt.functions) == ("rank.cuh", ("outranks",))
    titles = [title for _, title, _ in blocks(prompt.user) if title.startswith("source")]
    assert titles == ["source accuracy.cu (for reading only)", "source rank.cuh (may be changed: outranks)"]
    assert prompt.elsewhere == ("accuracy.cu",)
    small = build_prompt(sample.subject(read("accuracy")), max_tokens=5000)
    assert "__global__ void accuracy_kernel(" in small.user, "the kernel is never left out"


def test_a_file_without_the_kernel_or_unreadable_is_refused(tmp_path: Path, read: Callable[[str], Profile]) -> None:
    sample = SAMPLES["accuracy"]
    (tmp_path / "empty.cu").write_text("int x;\n", "utf-8")
    for name, error in (("empty.cu", KernelChoiceError), ("gone.cu", SourceError)):
        with pytest.raises(error):
            choose(
                read("accuracy"), Settings(), report=sample.report, source=tmp_path / name, files=Files([tmp_path]),
                resolve=PathMapper([tmp_path]).path_of,
            )  # fmt: skip
