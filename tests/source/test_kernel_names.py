"""A profiled kernel's name leads to its definition, and to no other."""

import pytest

from optimas_lsp.source.kernel_names import KernelName, match_kernel, parse_name
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("triad(float *, int)", KernelName(("triad",), None, ("float *", "int"))),
        ("plain()", KernelName(("plain",), None, ())),
        ("plain(void)", KernelName(("plain",), None, ())),
        ("void a::b::k<float, (int)4>(T1 *, T1)", KernelName(("a", "b", "k"), "float, (int)4", ("T1 *", "T1"))),
        ("(anonymous namespace)::k(int)", KernelName(("k",), None, ("int",))),
        ("void <unnamed>::k<int>(T1)", KernelName(("k",), "int", ("T1",))),
        ("softmax_kernel", KernelName(("softmax_kernel",))),
        (
            "unsigned int n::k<std::pair<int, float>>(std::map<int, char>, void (*)(int, int))",
            KernelName(("n", "k"), "std::pair<int, float>", ("std::map<int, char>", "void (*)(int, int)")),
        ),
        (
            "void cub::V_300_SM_900::detail::reduce::K<cub::P<int>::M, a::b<float *>>(T2, T3)",
            KernelName(("cub", "V_300_SM_900", "detail", "reduce", "K"), "cub::P<int>::M, a::b<float *>", ("T2", "T3")),
        ),
        ("", KernelName(("",))),
    ],
)
def test_names_are_taken_apart(demangled: str, expected: KernelName) -> None:
    assert parse_name(demangled) == expected


SOURCE = """\
namespace one { __global__ void k(const float* x, int n) { x; } }
namespace two { __global__ void k(const float* x, int n) { x; } }
__global__ void k(float* x) { x; }
__global__ void over(int a) { a; }
__global__ void over(int a, int b) { a; }
__global__ void over(float* a, int b) { a; }
__global__ void over(const float* a, int b) { a; }
template <typename T> __global__ void over(T* a, T b, int c) { a; }
template <typename T, int N> __global__ void t(T* a) { a; }
template <> __global__ void t<double, 2>(double* a) { a; }
__global__ void t(int* a) { a; }
namespace { __global__ void hidden(int a) { a; } }
OPEN_NAMESPACE
__global__ void opened(int a) { a; }
CLOSE_NAMESPACE
#if A
__global__ void twice(int a) {
  a;
}
#else
__global__ void twice(int a) {
  a;
}
#endif
__device__ void helper(int a) { a; }
"""


@pytest.mark.parametrize(
    ("demangled", "line"),
    [
        ("one::k(const float *, int)", 1),
        ("two::k(float const*, int)", 2),
        ("k(float *)", 3),
        ("three::k(const float *, int)", None),
        ("over(int)", 4),
        ("over(int, int)", 5),
        ("over(float *, int)", 6),
        ("over(const float *, int)", 7),
        ("void over<float>(T1 *, T1, int)", 8),
        ("void t<float, (int)4>(T1 *)", 9),
        ("void t<double, (int)2>(T1 *)", 10),
        ("t(int *)", 11),
        ("(anonymous namespace)::hidden(int)", 12),
        ("<unnamed>::hidden(int)", 12),
        ("_GLOBAL__N__5f2_4_k_cu_9::hidden(int)", 12),
        ("lib::v2::opened(int)", 14),
        ("helper(int)", None),
        ("absent(int)", None),
        ("twice(int)", None),
    ],
)
def test_a_profiled_name_finds_its_definition_or_none(demangled: str, line: int | None) -> None:
    functions = parse(SourceText.of(SOURCE), "cuda").functions
    found = match_kernel(functions, demangled)
    assert (found and found.first_line) == line


def test_hot_lines_tell_equal_definitions_apart() -> None:
    functions = parse(SourceText.of(SOURCE), "cuda").functions
    found = match_kernel(functions, "twice(int)", hint_lines=[22])
    assert found is not None
    assert found.first_line == 21
    assert match_kernel(functions, "twice(int)", hint_lines=[1]) is None


def test_hot_lines_elsewhere_deny_a_name_that_only_may_be_meant() -> None:
    functions = parse(SourceText.of(SOURCE), "cuda").functions
    assert match_kernel(functions, "lib::opened(int)", hint_lines=[14]) is not None
    assert match_kernel(functions, "lib::opened(int)", hint_lines=[3]) is None


def test_triton_names_with_and_without_their_old_suffix() -> None:
    source = "import triton\n@triton.jit\ndef softmax_1d(x):\n    pass\n@triton.jit\ndef softmax(x):\n    pass\n"
    functions = parse(SourceText.of(source), "python").functions
    for name, expected in {"softmax": "softmax", "softmax_1d": "softmax_1d", "softmax_0d1d2de": "softmax"}.items():
        found = match_kernel(functions, name)
        assert found is not None
        assert found.name == expected
    assert match_kernel(functions, "relu") is None


def test_a_mangled_name_alone_serves_when_it_is_plain() -> None:
    functions = parse(SourceText.of('extern "C" __global__ void plain(int a) { a; }\n'), "cuda").functions
    assert match_kernel(functions, "", "plain") is not None
