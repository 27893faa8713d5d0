"""Functions, statements, calls and launches of CUDA and Triton sources, broken ones too."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.source.syntax import Function, Language, Syntax, SyntaxCache, language_of, parse
from optimas_lsp.source.text import Change, Position, SourceText

CUDA = """\
#include <cuda_runtime.h>
#define TILE 16
#define GPU_ENTRY extern "C" __global__
#define KERNEL(name) __global__ void name

namespace outer { namespace inner::deep {
template <typename T, int N = 4>
__global__ void __launch_bounds__(256, 2) triad(T* __restrict__ x, const T* y, T s = 1) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;  // the index
  x[i] = y[i] + s
       * scale<N>(y[i], 3);
}

struct Grid {
  __device__ float at(int a) const { return a; }
  static __global__ void declared(int);
};
__global__ void Grid::declared(int n) { n++; }
}}

namespace {
template <class... A>
static __global__ void variadic(A... a) {}
}

extern "C" __global__ void plain(float *a) { a[0] = 1; }
GPU_ENTRY void by_macro(int n) { n += TILE; }
KERNEL(called_macro)(int a, int b) { a += b; }
static inline __host__ __device__ float dev(float x) { return x; }
float* host(int) { return nullptr; }

template <> __global__ void outer::inner::deep::triad<float, 2>(float* x, const float* y, float s) { x[0] = s; }
UNKNOWN_ATTRIBUTE(7) __global__ void attributed(int a, void (*f)(int, int)) {
#pragma unroll
  for (int i = 0;
       i < 3;
       ++i) {
    a += i; /* sum */ f(a, i);  // both
  }
}

int main() {
  outer::inner::deep::triad<float, 4><<<dim3(1), 2, 0, stream>>>(a, b);
  plain<<<1, 1>>>(q);
  host(3);
}
"""

TRITON = '''\
import triton
import triton.language as tl


@triton.jit
def exp_row(x, scale: tl.constexpr = 1.0):
    return tl.exp(x * scale)


@triton.autotune(configs=[triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def softmax(x_ptr, y_ptr, n, *, BLOCK: tl.constexpr):
    """Rows, # not a comment."""
    offsets = tl.arange(0, BLOCK)
    row = tl.load(x_ptr + offsets,
                  mask=offsets < n)  # one row
    for i in range(n):  # loop
        row += exp_row(row)
    tl.store(y_ptr + offsets, row)


class Ops:
    @staticmethod
    @triton.jit
    def inner(x):
        pass


@jax.jit
def not_ours(x):
    return x


def run(x, y):
    softmax[(1,)](x, y, 3, BLOCK=128)
'''


def syntax(text: str, language: Language = "cuda") -> Syntax:
    return parse(SourceText.of(text), language)


def named(found: Syntax, name: str) -> Function:
    (function,) = [function for function in found.functions if function.name == name]
    return function


@pytest.fixture(scope="module")
def cuda() -> Syntax:
    return syntax(CUDA)


@pytest.fixture(scope="module")
def triton() -> Syntax:
    return syntax(TRITON, "python")


def line_of(text: str, start: str) -> int:
    return next(k for k, line in enumerate(text.split("\n"), 1) if line.strip().startswith(start))


def test_every_kernel_of_a_file_is_found_with_its_qualified_name(cuda: Syntax) -> None:
    assert [kernel.shown_name for kernel in cuda.kernels] == [
        "outer::inner::deep::triad",
        "outer::inner::deep::Grid::declared",
        "(anonymous)::variadic",
        "plain",
        "by_macro",
        "called_macro",
        "outer::inner::deep::triad",
        "attributed",
    ]
    assert all(kernel.certain for kernel in cuda.kernels)


def test_device_and_host_functions_are_told_apart(cuda: Syntax) -> None:
    kinds = {function.name: function.kind for function in cuda.functions}
    assert kinds["at"] == kinds["dev"] == "device"
    assert kinds["host"] == kinds["main"] == "host"


def test_a_template_kernel_spans_its_head_its_name_and_its_body(cuda: Syntax) -> None:
    triad = cuda.kernels[0]
    assert (triad.first_line, triad.last_line) == (line_of(CUDA, "template <typename T"), line_of(CUDA, "struct") - 2)
    assert triad.template
    assert triad.specialization is None
    assert CUDA.split("\n")[triad.name_span.first.line - 1][triad.name_span.first.column :].startswith("triad(T*")
    assert CUDA.encode()[triad.body.start : triad.body.end].startswith(b"{\n  int i")
    assert CUDA.encode()[triad.extent.start : triad.extent.end].startswith(b"template <typename")
    assert [parameter.text for parameter in triad.parameters] == ["T* __restrict__ x", "const T* y", "T s = 1"]
    assert (triad.takes(2), triad.takes(3), triad.takes(1), triad.takes(4)) == (True, True, False, False)


def test_specializations_and_parameter_packs_are_known(cuda: Syntax) -> None:
    assert cuda.kernels[6].specialization == "float, 2"
    assert not cuda.kernels[6].template
    assert all(named(cuda, "variadic").takes(count) for count in range(4))


def test_the_function_around_a_line_is_the_innermost(cuda: Syntax, triton: Syntax) -> None:
    found = cuda.function_at(line_of(CUDA, "x[i] = y[i]"))
    assert found is not None
    assert found.name == "triad"
    assert cuda.function_at(1) is None
    found = triton.function_at(line_of(TRITON, "@triton.autotune"))
    assert found is not None
    assert found.name == "softmax"


def test_the_code_of_a_line_leaves_out_indentation_and_comments(cuda: Syntax) -> None:
    def code(start: str) -> str:
        line = line_of(CUDA, start)
        first, last = cuda.extent(line)
        return cuda.text.line(line)[first:last]

    assert code("int i =") == "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    assert code("* scale") == "* scale<N>(y[i], 3);"
    assert code("a += i;") == "a += i; /* sum */ f(a, i);"
    assert code("#pragma") == "#pragma unroll"
    assert cuda.extent(5) == (0, 0)
    with pytest.raises(IndexError):
        cuda.extent(10_000)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("  /* why */ x = 1;  /* because */ // so", "x = 1;"),
        ("  // nothing but words  ", "// nothing but words"),
        ('  s = "// no comment"; // one', 's = "// no comment";'),
        ("  x = 'a'; /* opens", "x = 'a';"),
        ("\t\f x = 1;\f ", "x = 1;"),
        ("  größe = '😀'; // ja", "größe = '😀';"),
        ("  f(a, // first", "f(a,"),
    ],
)
def test_the_code_of_awkward_lines(line: str, code: str) -> None:
    found = syntax("__global__ void k() {\n" + line + "\n*/ b);\n}\n")
    first, last = found.extent(2)
    assert line[first:last] == code


def test_a_comment_that_ends_on_a_line_is_not_its_code() -> None:
    found = syntax("void f() { /* one\n two */ x = 1;\n}\n")
    assert found.text.line(2)[slice(*found.extent(2))] == "x = 1;"


def test_triton_lines_end_before_their_comment(triton: Syntax) -> None:
    for start, code in {
        '"""Rows': '"""Rows, # not a comment."""',
        "mask=": "mask=offsets < n)",
        "for i": "for i in range(n):",
    }.items():
        line = line_of(TRITON, start)
        assert triton.text.line(line)[slice(*triton.extent(line))] == code


def test_a_statement_over_several_lines_is_one(cuda: Syntax, triton: Syntax) -> None:
    first = line_of(CUDA, "x[i] = y[i]")
    assert cuda.statement(first) == cuda.statement(first + 1) == (first, first + 1)
    loop = line_of(CUDA, "for (int i = 0;")
    assert [cuda.statement(loop + k) for k in range(3)] == [(loop, loop + 2)] * 3
    assert cuda.statement(loop + 3) == (loop + 3, loop + 3)
    assert cuda.statement(loop + 4) == (loop + 4, loop + 4)
    load = line_of(TRITON, "row = tl.load")
    assert triton.statement(load) == triton.statement(load + 1) == (load, load + 1)
    assert triton.statement(load + 2) == (load + 2, load + 2)
    assert triton.statement(load + 3) == (load + 3, load + 3)


def test_a_body_without_braces_is_its_own_statement() -> None:
    found = syntax(
        "void f() {\n  for (;;)\n    x += g(1,\n           2);\n  if (a &&\n      b)\n    y();\n  else\n    z();\n"
        "  if (c) {\n  } else if (d &&\n             e) {\n  }\n}\n"
    )
    assert [found.statement(line) for line in range(2, 13)] == [
        (2, 2), (3, 4), (3, 4), (5, 6), (5, 6), (7, 7), (8, 8), (9, 9), (10, 10), (11, 12), (11, 12)
    ]  # fmt: skip


def test_launches_and_calls_name_what_they_call(cuda: Syntax, triton: Syntax) -> None:
    assert [(call.callee, call.launch) for call in cuda.launches] == [
        ("outer::inner::deep::triad", True), ("plain", True)
    ]  # fmt: skip
    assert [call.callee for call in triton.launches] == ["softmax"]
    assert [call.callee for call in cuda.calls(line_of(CUDA, "a += i;"))] == ["f"]
    first = line_of(CUDA, "x[i] = y[i]")
    assert [call.callee for call in cuda.calls(first, first + 1)] == ["scale"]
    assert [call.callee for call in triton.calls(line_of(TRITON, "row += exp_row"))] == ["exp_row"]


def test_triton_kernels_and_the_functions_they_call(triton: Syntax) -> None:
    kinds = {function.shown_name: function.kind for function in triton.functions}
    assert kinds == {
        "exp_row": "device",
        "softmax": "kernel",
        "Ops::inner": "kernel",
        "not_ours": "host",
        "run": "host",
    }
    softmax = named(triton, "softmax")
    assert softmax.first_line == line_of(TRITON, "@triton.autotune")
    assert softmax.name_span.first.line == line_of(TRITON, "def softmax")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("from triton import jit\n@jit", "kernel"),
        ("@jit", "host"),
        ("@cuda.jit", "kernel"),
        ("@cuda.jit(device=True)", "device"),
        ("@numba.jit", "host"),
        ("@gluon.jit", "kernel"),
        ("@triton.jit(do_not_specialize=['n'])", "kernel"),
    ],
)
def test_decorators_decide_what_a_python_function_is(head: str, kind: str) -> None:
    assert named(syntax(f"{head}\ndef k(x):\n    return x\n", "python"), "k").kind == kind


BROKEN = [
    ("FOO(BAR __global__ void k(int a, float b) { if (a) { b++; } }\n", 2),
    ("NS_BEGIN\ntemplate <typename T>\n__global__ void k(T a, T b) { a; }\nNS_END\n", 2),
    ("#if X\n__global__ void k(int n) {\n#else\n__global__ void k(int n, int m) {\n#endif\n n;\n}\n", None),
    ("}}}} __global__ void k(int a, int b) {\n a = ;\n}\n", 2),
    ("class { __global__ __launch_bounds__(TILE * (2)) void k(int a, int b) { ((( } int q;\n", 2),
    ("void f( {\n__global__ void k(int a, int b) { x }\n", 2),
    ("__global__ MACRO(x) void k(int a = g(1, 2), int b = 3) { x; }\n", 2),
]


@pytest.mark.parametrize(("text", "parameters"), BROKEN)
def test_kernels_of_broken_files_are_still_found(text: str, parameters: int | None) -> None:
    found = [kernel for kernel in syntax(text).kernels if kernel.name == "k"]
    assert found
    assert all(kernel.last_line >= kernel.name_span.first.line for kernel in found)
    if parameters is not None:
        assert [len(kernel.parameters) for kernel in found] == [parameters]


def test_a_file_too_large_for_the_parser_still_yields_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimas_lsp.source.syntax.LARGEST", 100)
    found = syntax(CUDA)
    assert found.tree is None
    names = [kernel.shown_name for kernel in found.kernels]
    assert names == [
        "outer::inner::deep::triad",
        "outer::inner::deep::Grid::declared",
        "(anonymous)::variadic",
        "plain",
        "outer::inner::deep::triad",
        "attributed",
    ]
    assert not any(kernel.certain for kernel in found.kernels)
    assert found.statement(9) == (9, 9)
    assert found.extent(9)[0] == 2
    assert found.launches == found.calls(9) == ()


def test_words_in_comments_strings_and_macros_are_no_kernels() -> None:
    text = '// __global__ void a() {}\n/* __global__ void b() {} */\nauto s = R"(__global__ void c() {})";\n'
    text += '#define D __global__ void d() {}\nauto t = "__global__ void e() {}";\n__global__ void f(int);\n'
    assert syntax(text).kernels == ()
    assert syntax(text + "}}} FOO(").kernels == ()


def test_line_ends_of_any_kind_give_the_same_lines() -> None:
    assert syntax("\0\r\0\r\n").code.data == b"\0\n\0\r\n"
    for end in ("\r\n", "\r"):
        found = syntax(CUDA.replace("\n", end))
        assert [kernel.first_line for kernel in found.kernels] == [kernel.first_line for kernel in syntax(CUDA).kernels]
        assert found.extent(9) == syntax(CUDA).extent(9)


def test_form_feeds_and_wide_characters_shift_columns_not_lines() -> None:
    found = syntax("// 😀\u2028\f\n/* 😀 */ __global__ void k() {\n  \ud83d x = 1; }\n")
    (kernel,) = found.kernels
    assert (kernel.name_span.first.line, kernel.name_span.first.column) == (2, 24)


def test_an_edited_text_is_parsed_from_what_was_known() -> None:
    rng = random.Random(2)
    text = SourceText.of(CUDA * 3)
    known = parse(text, "cuda")
    for _ in range(60):
        line = rng.randrange(1, text.line_count)
        change = Change(rng.choice(["x", "\n", "{", "}", "/*", '"', ""]), Position(line, 0), Position(line, 3))
        text, _ = text.apply(change)
        known = parse(text, "cuda", known)
        fresh = parse(text, "cuda")
        assert known.code.data == fresh.code.data
        for kernel in known.kernels:
            assert known.code.data[kernel.name_span.start : kernel.name_span.end].strip().endswith(kernel.name.encode())
    text, _ = text.apply(Change(CUDA))
    assert parse(text, "cuda", known).functions == syntax(CUDA).functions


def test_the_cache_keeps_a_bounded_number_of_files() -> None:
    cache = SyntaxCache(limit=2)
    text = SourceText.of(CUDA)
    first = cache.get("a", text, "cuda")
    assert cache.get("a", text, "cuda") is first
    assert cache.get("a", SourceText.of(CUDA), "cuda") is first
    after, _ = text.apply(Change("// x\n", Position(1, 0), Position(1, 0)))
    assert cache.get("a", after, "cuda") is not first
    cache.get("b", text, "cuda")
    cache.get("c", text, "cuda")
    assert cache.get("a", text, "cuda") is not first
    cache.forget("a")
    cache.forget("never there")


@pytest.mark.parametrize(
    ("path", "language"),
    [("a/k.cu", "cuda"), ("K.CUH", "cuda"), ("k.py", "python"), ("k.hpp", "cuda"), ("k.txt", None), ("Makefile", None)],
)
def test_suffixes_decide_the_language(path: str, language: str | None) -> None:
    assert language_of(path) == language


WORDS = (
    "__global__| void |k|(|)|{|}|<|>|template|;|\"|'|/*|//|::|namespace n |é|😀|@triton.jit\n|def f|:|    |#define X "
)
PIECES = st.lists(st.sampled_from([*WORDS.split("|"), "\n", "\r", "\x00", "\ud800", "\\\n"]), max_size=60).map("".join)


@settings(max_examples=250, deadline=None)
@given(PIECES, st.sampled_from(["cuda", "python"]))
def test_no_text_makes_it_fail(text: str, language: Language) -> None:
    found = syntax(text, language)
    for function in found.functions:
        assert 1 <= function.first_line <= function.last_line <= found.text.line_count
        assert function.extent.start <= function.name_span.start <= function.name_span.end <= function.extent.end
    for line in range(1, found.text.line_count + 1):
        first, last = found.statement(line)
        assert first <= line <= last
        begin, stop = found.extent(line)
        content = found.text.line(line)
        assert 0 <= begin <= stop <= len(content)
        assert (begin < stop) == bool(content.strip())
        found.calls(line)
    assert all(call.launch for call in found.launches)


def test_twenty_thousand_lines_are_understood() -> None:
    body = "".join(f"  x[{k}] = y[{k}] * {k}.0f;\n" for k in range(98))
    text = "".join(f"__global__ void k{n}(float* x, const float* y) {{\n{body}}}\n" for n in range(200))
    found = syntax(text)
    assert found.text.line_count == 20_001
    assert [kernel.name for kernel in found.kernels] == [f"k{n}" for n in range(200)]
    assert found.kernels[199].first_line == 19_901
