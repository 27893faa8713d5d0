"""A proposal becomes few line edits: what it does not touch keeps its bytes, and there is always a way back."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.guardrails import Entry, entries
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.edits import EditError, LineEdit, StaleEditError, apply, inverse, plan
from optimas_lsp.rewrite.guard.tokens import code_of, lex, texts
from optimas_lsp.rewrite.locate import AmbiguousFunctionError, LocationError, MissingFunctionError
from optimas_lsp.rewrite.proposal import FunctionText, Proposal
from optimas_lsp.source.text import SourceText

FILE = """\
#include <cstdio>

namespace model {

// Advances one step.
template <typename T>
__global__ void advance(T* x, const T* v, T dt, int n)  // in place
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;   // one thread a point
    if (i >= n) return;

    // explicit Euler
    x[i] += v[i] * dt;
}  // advance

}  // namespace model
"""
NEW = """\
template <typename T>
__global__ void advance(T* x, const T* v, T dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T speed = v[i];
    x[i] += speed * dt;
}
"""


def proposal(text: str, function: str = "model::advance") -> Proposal:
    return Proposal(functions=(FunctionText(function=function, text=text),))


def edited(file: str, text: str, function: str = "model::advance") -> str:
    return Candidate.of(file.encode(), proposal(text, function)).edited.decode()


def test_only_the_changed_lines_are_edited_and_comments_survive() -> None:
    text = SourceText.of(FILE)
    (edit,) = plan(text, proposal(NEW))
    assert edit == LineEdit(
        first=13, before=("    x[i] += v[i] * dt;\n",), after=("    T speed = v[i];\n", "    x[i] += speed * dt;\n")
    )


def test_new_lines_take_the_files_indentation() -> None:
    tabs = FILE.replace("    ", "\t")
    assert "\tT speed = v[i];\n\tx[i]" in edited(tabs, NEW)
    two = (
        NEW.replace("    x[i]", "    if (n > 0) {\n        x[i]")
        .replace("dt;\n}", "dt;\n    }\n}")
        .replace("    ", "  ")
    )
    assert "    if (n > 0) {\n        x[i] += speed * dt;\n    }\n}  // advance" in edited(FILE, two)
    assert "\tif (n > 0) {\n\t\tx[i] += speed * dt;\n\t}\n}" in edited(tabs, two)


def test_a_function_inside_a_class_stays_indented() -> None:
    file = "struct S {\n    __device__ float f(float x) const\n    {\n        return x + x;\n    }\n};\n"
    after = edited(file, "__device__ float f(float x) const\n{\n    float y = 2 * x;\n    return y;\n}", "S::f")
    assert after == file.replace("        return x + x;\n", "        float y = 2 * x;\n        return y;\n")


def test_a_line_that_moves_into_a_block_keeps_its_comment() -> None:
    file = "__global__ void k(int* x, int n)\n{\n    x[n] = 1;  // the end\n    x[0] = 2;\n}\n"
    new = "__global__ void k(int* x, int n)\n{\n    if (n) {\n        x[n] = 1;\n    }\n    x[0] = 2;\n}\n"
    assert edited(file, new, "k") == file.replace(
        "    x[n] = 1;  // the end\n", "    if (n) {\n        x[n] = 1;  // the end\n    }\n"
    )


def test_comments_that_an_answer_left_out_or_reworded_stay() -> None:
    head = "__global__ void k(int* x)\n{\n"
    file = head + "    // first\n    x[0] = 1;\n    /* second,\n       longer */\n    x[1] = 2;\n}\n"
    new = "__global__ void k(int* x)\n{\n    x[0] = 1;\n    // 2nd\n    x[1] = 3;\n}\n"
    assert edited(file, new, "k") == file.replace(
        "    /* second,\n       longer */\n    x[1] = 2;", "    // 2nd\n    x[1] = 3;"
    )
    bare = "__global__ void k(int* x)\n{\n    x[0] = 1;\n    x[1] = 3;\n}\n"
    assert edited(file, bare, "k") == file.replace("x[1] = 2;", "x[1] = 3;")


def test_text_around_a_function_on_its_own_lines_stays() -> None:
    file = "namespace a { __global__ void k(int* x) { x[0] = 1; } } /* end */ int y;\n"
    new = "// better\n__global__ void k(int* x) {\n    x[0] = 2;\n} // done\n"
    assert edited(file, new, "a::k") == (
        "namespace a { __global__ void k(int* x) {\n    x[0] = 2;\n} } /* end */ int y;\n"
    )


def test_a_new_function_comes_with_its_comment() -> None:
    file = "int a;\n\n__global__ void k(int* x)\n{\n    x[0] = 1;\n}\n"
    helper = "// Twice.\n__device__ int twice(int a) { return 2 * a; }\n\n"
    new = helper + "__global__ void k(int* x)\n{\n    x[0] = twice(1);\n}"
    assert edited(file, new, "k") == file.replace("__global__", helper + "__global__").replace("= 1", "= twice(1)")


def test_an_extern_c_of_the_file_is_not_repeated() -> None:
    file = 'extern "C" __global__ void k(int* x) { x[0] = 1; }\n'
    assert edited(file, 'extern "C" __global__ void k(int* x) { x[0] = 2; }', "k") == file.replace("= 1", "= 2")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_are_the_files(end: str) -> None:
    data = FILE.replace("\n", end).encode()
    candidate = Candidate.of(data, proposal(NEW))
    assert candidate.edited.decode().replace(end, "\n") == edited(FILE, NEW)
    assert candidate.reverted() == data


def test_mixed_line_ends_and_a_missing_last_one_survive() -> None:
    file = "int a;\r\n__global__ void k(int* x)\n{\r\n    x[0] = 1;\r\n    x[1] = 2;\n}"
    after = edited(file, "__global__ void k(int* x)\n{\n    x[0] = 3;\n    x[1] = 2;\n}\n", "k")
    assert after == file.replace("x[0] = 1", "x[0] = 3")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings_survive(encoding: str) -> None:
    data = FILE.replace("explicit Euler", "explicit Euler, après").encode(encoding)
    candidate = Candidate.of(data, proposal(NEW))
    assert candidate.edited.decode(encoding) == edited(FILE, NEW).replace("explicit Euler", "explicit Euler, après")
    assert candidate.reverted() == data


def test_a_character_that_the_files_encoding_lacks_is_an_error_that_names_it() -> None:
    data = FILE.replace("explicit Euler", "après").encode("latin-1")
    with pytest.raises(EditError, match=r"'→'.*latin-1"):
        Candidate.of(data, proposal(NEW.replace("T speed", "/* → */ T speed")))


def test_several_functions_are_edited_at_once_in_any_order() -> None:
    file = "".join(f"__global__ void k{i}(int* x)\n{{\n    x[{i}] = 1;\n}}\n\n" for i in range(3))
    items = tuple(
        FunctionText(function=f"k{i}", text=f"__global__ void k{i}(int* x)\n{{\n    x[0] = 0;\n    x[{i}] = 2;\n}}")
        for i in (2, 0)
    )
    candidate = Candidate.of(file.encode(), Proposal(functions=items))
    assert candidate.edited.decode().count("= 2;") == 2
    assert candidate.reverted() == file.encode()
    assert candidate.lines_changed() == (3, 13)


def test_a_missing_function_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(MissingFunctionError, match=r"no function 'model::retreat'.*model::advance"):
        edited(FILE, NEW, "model::retreat")


def test_overloads_are_told_apart_by_their_heading_or_not_at_all() -> None:
    file = "__device__ int f(int a) { return a; }\n__device__ float f(float a) { return a; }\n"
    assert edited(file, "__device__ float f(float a) { return a + 1; }", "f").endswith("{ return a + 1; }\n")
    with pytest.raises(AmbiguousFunctionError, match="line 1, line 2"):
        edited(file, "__device__ double f(double a) { return a; }", "f")


def test_equal_names_in_namespaces_are_told_apart_by_the_namespace() -> None:
    file = "".join(f"namespace {n} {{ __global__ void k(int* x) {{ x[0] = 1; }} }}\n" for n in "ab")
    new = "__global__ void k(int* x) { x[0] = 2; }"
    assert edited(file, new, "b::k") == file[: file.index("\n")] + file[file.index("\n") :].replace("= 1", "= 2")
    with pytest.raises(AmbiguousFunctionError):
        edited(file, new, "k")


def test_specializations_are_told_apart() -> None:
    file = (
        "template <typename T> __device__ T f(T a) { return a; }\n"
        "template <> __device__ int f<int>(int a) { return a; }\n"
    )
    after = edited(file, "template <> __device__ int f<int>(int a) { return a + 0; }", "f")
    assert after.splitlines()[0] == file.splitlines()[0]
    assert "return a + 0" in after.splitlines()[1]


def test_a_text_without_a_definition_is_an_error() -> None:
    with pytest.raises(EditError, match="holds no definition"):
        edited(FILE, "x[i] += 1;")
    with pytest.raises(EditError, match="overlap"):
        Candidate.of(FILE.encode(), Proposal(functions=proposal(NEW).functions * 2))


def test_edits_are_refused_by_a_text_that_has_changed() -> None:
    edits = plan(SourceText.of(FILE), proposal(NEW))
    with pytest.raises(StaleEditError, match="has changed"):
        apply(SourceText.of(FILE.replace("* dt", "* dt * dt")), edits)


def test_a_triton_kernel_is_edited_too() -> None:
    old = "@triton.jit\ndef k(x, n: tl.constexpr):\n    i = tl.arange(0, n)  # offsets\n    tl.store(x + i, 1)\n"
    file = "import triton\n\n\n" + old
    new = old.replace("+ i, 1", "+ i, 2")
    candidate = Candidate.of(file.encode(), proposal(new, "k"), path="k.py")
    assert candidate.edited.decode() == file.replace("+ i, 1", "+ i, 2")


CORPUS = [each for kind in ("attacks", "honest") for each in entries(kind) if each.proposal.functions]


@pytest.mark.parametrize("entry", CORPUS, ids=lambda each: each.id)
def test_every_entry_of_the_corpus_can_be_applied_and_reverted(entry: Entry) -> None:
    data = entry.source.read_bytes()
    try:
        candidate = Candidate.of(data, entry.proposal)
    except (LocationError, EditError):
        return
    assert candidate.reverted() == data


LINES = st.sampled_from(
    [
        "x[i] = 1;",
        "x[i] = 2;  // two",
        "// a comment",
        "/* one",
        "   two */",
        "",
        "if (i < n) {",
        "}",
        "foo(a,",
        "    b);",
        "#pragma unroll",
        "\tx[i] += 1;",
        '    const char* s = "}";',
        "for (int k = 0; k < n; ++k)",
        "    x[k] = k; /* here */ x[0]++;",
    ]
)


def _paired(lines: list[str]) -> bool:
    depths = [*accumulate((line.count("{") - line.count("}") + ('"}"' in line) for line in lines), initial=0)]
    return depths[-1] == 0 and min(depths) == 0


@settings(max_examples=300, deadline=None)
@given(
    st.lists(LINES, max_size=12),
    st.lists(LINES, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_apply_gives_the_new_code_and_revert_the_old_bytes(
    old: list[str], new: list[str], end: str, last: bool, wide: bool
) -> None:
    def function(lines: list[str], step: str) -> str:
        return "\n".join(["__global__ void k(int* x, int n)", "{", *(step + line for line in lines), "}"])

    before = function(old, "    ")
    file = ("// first\nint a;\n" + before + ("\nint z;  // last\n" if last else "")).replace("\n", end)
    text = function(new, "\t" if wide else "    ")
    try:
        candidate = Candidate.of(file.encode(), proposal(text, "k"))
    except (LocationError, EditError):
        return
    after = candidate.edited.decode()
    assert candidate.reverted() == file.encode()
    assert inverse(inverse(candidate.edits)) == candidate.edits
    head, tail = f"// first{end}int a;{end}", f"{end}int z;  // last{end}" if last else ""
    assert after.startswith(head)
    assert after.endswith(tail)
    assert "\n" not in after.replace("\r\n", "") or end == "\n"
    if not (_paired(old) and _paired(new)) or any("/*" in line for line in (*old, *new)):
        return
    assert texts(code_of(lex(after.replace("\r\n", "\n")))) == texts(
        code_of(lex((head + text + tail).replace("\r\n", "\n")))
    )
