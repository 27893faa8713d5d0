"""Each transformation applies where its precondition is plain in the text, and says what is missing where it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText

SAMPLES = Path(__file__).parents[3] / "samples"
Look = Callable[..., Any]


def sample(name: str) -> str:
    return (SAMPLES / name / f"{name}.cu").read_text("utf-8")


ACCURACY = ("accuracy", "accuracy_kernel")
SOBOL = ("sobol", "sobol_kernel")
DOT = ("stream", "dot_kernel")
COPY = ("stream", "copy_kernel")
SHMEM = ("shmem", "mix_tiles")
ADJACENT = ("adjacent", "adjacent_kernel")
ROW_SUM = ("sweep", "row_sum")
CUB = ("cub_adjacent", "variation_kernel")
STENCIL = ("stencil", "interior::update")
RANK = (SAMPLES / "accuracy" / "rank.cuh").read_text("utf-8")

APPLIES = [
    ("batched-loads", *ACCURACY, "scores_ahead[8]"),
    ("batched-loads", *DOT, "(long long)last - i > 3 * (long long)stride"),
    ("block-exchange", *CUB, "cub::BLOCK_LOAD_WARP_TRANSPOSE"),
    ("contiguous-reduction", *DOT, "const unsigned place = 2u * step * threadIdx.x;"),
    ("count-in-register", *ACCURACY, "if (own_count != 0) atomicAdd(&better, own_count);"),
    ("float-literals", *SOBOL, "2.3283064365386963e-10f"),
    ("items-per-thread", *COPY, "reinterpret_cast<double2*>(c)[i] = c_result;"),
    ("narrow-division", *ADJACENT, "((i | segment) >> 32) == 0"),
    ("pad-shared", *SHMEM, "tile[kSide][kSide + 1]"),
    ("read-only-loads", *DOT, "__ldg(&a[i]) * __ldg(&b[i])"),
    ("register-accumulation", *DOT, "partial[local] = sum;"),
    ("restrict-pointers", *STENCIL, "double* __restrict__ next"),
    ("set-bits", *SOBOL, "rest &= rest - 1"),
    ("striped-items", *ADJACENT, "first + k * (long long)blockDim.x"),
    ("tiled-decomposition", *SOBOL, "if (dimensions % 8 == 0 &&"),
    ("unroll-loop", *ACCURACY, "#pragma unroll 4"),
    ("vector-loads", *ACCURACY, "reinterpret_cast<const float4*>(row_start)"),
    ("vector-run", *ROW_SUM, "*reinterpret_cast<float4*>(out_run_59 + c) = out_piece_59;"),
]


@pytest.mark.parametrize(("transformation", "name", "function", "expected"), APPLIES)
def test_it_applies_to_the_sample_that_needs_it(
    look: Look, transformation: str, name: str, function: str, expected: str
) -> None:
    found = look(sample(name), transformation, function, headers=(RANK,))
    after = [found.after(number) for number in range(len(found.variants))]
    assert any(expected in text for text in after), found.refusals
    for text in after:
        tree = parse(SourceText.of(text), "cuda").tree
        assert tree is not None
        assert text.startswith("//")


REFUSED = [
    # loads ahead
    ("batched-loads", *ACCURACY, "atomicAdd(&better, 1);", "atomicAdd(&better, 1); break;", "left early"),
    (
        "batched-loads",
        *ACCURACY,
        "float score = scores",
        "__syncthreads(); float score = scores",
        "wait for each other",
    ),
    (
        "batched-loads",
        *ACCURACY,
        "atomicAdd(&better, 1);",
        "correct = (int*)scores; correct[c] = 1;",
        "point elsewhere",
    ),
    ("batched-loads", *ACCURACY, "c < classes;", "c < top_k * classes_of(c);", "bound or step"),
    ("batched-loads", *DOT, "partial[local] += a[i] * b[i];", "sums[i] += a[i]; a = b;", "from global memory"),
    # counting in a register
    ("count-in-register", *ACCURACY, "atomicAdd(&better, 1);", "int old = atomicAdd(&better, 1);", "old value"),
    (
        "count-in-register",
        *ACCURACY,
        "__shared__ int better;",
        "__shared__ float better;",
        "not known to be an integer",
    ),
    (
        "count-in-register",
        *ACCURACY,
        "float score = scores",
        "__syncthreads(); float score = scores",
        "wait for each other",
    ),
    (
        "count-in-register",
        *ACCURACY,
        "atomicAdd(&better, 1);",
        "atomicAdd(&better, 1); if (better > 9) return;",
        "return",
    ),
    ("count-in-register", *ACCURACY, "atomicAdd(&better, 1);", "atomicAdd(&ranks[c], 1);", "changes in the loop"),
    (
        "count-in-register",
        *ACCURACY,
        "if (outranks(score, c, right, label))",
        "if (score > right && better < 3)",
        "uses 'better'",
    ),
    # accumulating in a register
    ("register-accumulation", *DOT, "partial[local] = 0.0;", "", "not set right before"),
    (
        "register-accumulation",
        *DOT,
        "partial[local] += a[i] * b[i];",
        "partial[i & 1] += a[i];",
        "not the same element",
    ),
    ("register-accumulation", *DOT, "+= a[i] * b[i];", "+= partial[0] * b[i];", "other elements"),
    ("register-accumulation", *DOT, "+= a[i] * b[i];\n", "+= a[i] * b[i]; __syncwarp();\n", "wait for each other"),
    # the tree
    ("contiguous-reduction", *DOT, "local % (2 * step) == 0", "local % (4 * step) == 0", "condition is not"),
    ("contiguous-reduction", *DOT, "+= partial[local + step]", "+= partial[local ^ step]", "neither"),
    (
        "contiguous-reduction",
        *DOT,
        "+= partial[local + step]",
        "+= partial[local + step] * a[step]",
        "one shared array",
    ),
    ("contiguous-reduction", *DOT, "    int chunk", "    if (n < 5) return;\n    int chunk", "sure to reach"),
    ("contiguous-reduction", *DOT, "int local = threadIdx.x;", "int local = threadIdx.x ^ 1;", "condition is not"),
    # padding
    (
        "pad-shared",
        *SHMEM,
        "int x = threadIdx.x;",
        "int x = threadIdx.x; T* flat = &tile[0][0];",
        "address of an element",
    ),
    ("pad-shared", *SHMEM, "int x = threadIdx.x;", "int x = sizeof(tile);", "used other than by 2 subscripts"),
    ("pad-shared", *SHMEM, "mirror[kSide][kSide]", "mirror[kSide][kColumnsElsewhere]", "not a known constant"),
    # splitting the thread's number the other way
    (
        "tiled-decomposition",
        *SOBOL,
        "int dimension = i / points;",
        "int dimension = i / dimensions;",
        "same two numbers",
    ),
    ("tiled-decomposition", *SOBOL, "if (i >= points * dimensions) return;", "", "no 'if"),
    ("tiled-decomposition", *SOBOL, "unsigned int x = 0;", "unsigned int x = threadIdx.x;", "own number"),
    (
        "tiled-decomposition",
        *SOBOL,
        "unsigned int x = 0;",
        "unsigned int x = 0; __syncthreads();",
        "wait for each other",
    ),
    ("tiled-decomposition", *SOBOL, "unsigned int x = 0;", "__shared__ int y; unsigned int x = 0;", "shared memory"),
    ("tiled-decomposition", *SOBOL, "unsigned int x = 0;", "unsigned int x = i;", "more than the split"),
    # striping
    ("striped-items", *ADJACENT, "out[i] = in[i];", "out[i + 1] = in[i];", "other places"),
    ("striped-items", *ADJACENT, "out[i] = in[i] - in[i - 1];", "out[i] = in[i] - out[i - 1];", "other places"),
    ("striped-items", *ADJACENT, "if (i < count) {", "if (i >= count) break; {", "left early"),
    ("striped-items", *ADJACENT, "if (i < count) {", "count -= k; if (i < count) {", "more than the item"),
    ("striped-items", *ADJACENT, "if (i < count) {", "segment += 1; if (i < count) {", "carried"),
    ("striped-items", *ADJACENT, "(d_in, d_out, count", "(d_in, d_in + 1, count", "overlap"),
    ("striped-items", *ADJACENT, "* kItemsPerThread;\n    for", "* 15;\n    for", "not the thread's number times"),
    # element-wise kernels
    ("items-per-thread", *COPY, "c[i] = a[i];", "c[i] = a[i + 1];", "not the element"),
    ("items-per-thread", *COPY, "c[i] = a[i];", "c[i] = a[i] + i;", "more than finding"),
    ("items-per-thread", *COPY, "c[i] = a[i];", "c[i] += a[i];", "plain store"),
    # bits
    ("set-bits", *SOBOL, "bit < kBits; ++bit) {\n        if", "bit < 31; ++bit) {\n        if", "all 32 bits"),
    ("set-bits", *SOBOL, "x ^= directions[dimension", "gray ^= x; x ^= directions[dimension", "changes in the loop"),
    ("set-bits", *SOBOL, "unsigned int gray", "int gray", "not an unsigned"),
    # pointers
    (
        "restrict-pointers",
        *SOBOL,
        "64>>>(d_directions, points, dimensions, d_output)",
        "64>>>((unsigned*)d_output, points, dimensions, d_output)",
        "overlap",
    ),
    ("restrict-pointers", *STENCIL, "u[2] = oldest;", "u[2] = u[1];", "overlap"),
    (
        "restrict-pointers",
        *STENCIL,
        "Material material = {d_mu, d_lambda, d_rho};",
        "Material material = {d_mu, d_mu, d_rho};",
        "overlap",
    ),
    ("restrict-pointers", "sweep", "scale", "", "", "launch"),
    ("read-only-loads", *DOT, "(a, b, sums, n)", "(a, sums, sums, n)", "overlap"),
    (
        "read-only-loads",
        *DOT,
        "const double* a, const double* b, double* sums",
        "double* a, double* b, double* sums",
        "pointer to const",
    ),
    # the rest
    ("float-literals", *SOBOL, "unsigned int x = 0;", "double y = 0; unsigned int x = 0;", "on purpose"),
    (
        "narrow-division",
        *ADJACENT,
        "long long count, long long segment",
        "long long count, int segment",
        "not both 64-bit",
    ),
    ("vector-loads", *ACCURACY, "c += blockDim.x", "c += 2 * blockDim.x", "block's threads"),
    ("vector-loads", *ACCURACY, "atomicAdd(&better, 1);", "atomicAdd(&better, threadIdx.x);", "own number|amount"),
    ("vector-run", *ROW_SUM, "constexpr int kColumns = 64;", "constexpr int kColumns = 63;", "whole 16-byte pieces"),
    ("vector-run", *ROW_SUM, "out[row * kColumns + c] = sum;", "out[row * kColumns + c] += sum;", "changed in place"),
    ("block-exchange", *CUB, "constexpr int kThreads = 128;", "constexpr int kThreads = 100;", "whole warps"),
    ("unroll-loop", *ACCURACY, "c += blockDim.x", "c *= 2", "adding to it"),
]


@pytest.mark.parametrize(("transformation", "name", "function", "old", "new", "reason"), REFUSED)
def test_it_refuses_a_sample_that_was_changed(  # noqa: PLR0917
    look: Look, transformation: str, name: str, function: str, old: str, new: str, reason: str
) -> None:
    text = sample(name)
    assert old in text
    at = text.index(function.rsplit("::", 1)[-1])
    changed = text[:at] + text[at:].replace(old, new, 1) if old in text[at:] else text.replace(old, new, 1)
    found = look(changed, transformation, function, headers=(RANK,))
    assert any(each in said for said in found.refusals for each in reason.split("|")), found.refusals


def kernel(body: str, parameters: str = "const float* in, float* out, int* counts, int n", main: str = "") -> str:
    return f"__global__ void kernel({parameters})\n{{\n{body}\n}}\n{main}"


def test_a_barrier_directly_after_another_goes_and_one_between_uses_of_memory_stays(look: Look) -> None:
    text = kernel("    __shared__ int a;\n    a = 1;\n    __syncthreads();\n    __syncthreads();\n    out[0] = a;")
    assert look(text, "drop-barrier").after().count("__syncthreads") == 1
    last = kernel("    out[0] = in[0];\n    __syncthreads();")
    assert "__syncthreads" not in look(last, "drop-barrier").after()
    needed = kernel(
        "    __shared__ int a;\n    a = 1;\n    __syncthreads();\n    int b = a;\n    __syncthreads();\n    a = b;"
    )
    assert not look(needed, "drop-barrier").variants
    branch = kernel("    if (n > 1) {\n        __syncthreads();\n    }\n    __syncthreads();\n    out[0] = in[0];")
    assert not look(branch, "drop-barrier").variants


HISTOGRAM = """    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&counts[(unsigned)in[i] % 64], 1);
    }"""


def test_a_global_histogram_with_a_bounded_index_is_counted_in_shared_memory_first(look: Look) -> None:
    after = look(kernel(HISTOGRAM), "private-histogram").after()
    assert "__shared__ int block_counts[64];" in after
    assert after.count("__syncthreads();") == 2
    assert "atomicAdd(&counts[bin], block_counts[bin])" in after


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(unsigned)in[i] % 64", "(int)in[i] % 64", "does not follow"),
        ("(unsigned)in[i] % 64", "(unsigned)in[i]", "does not follow"),
        ("% 64", "% 100000", "at most"),
        ("    for (", "    if (n < 3) return;\n    for (", "return early"),
        ("1);", "1); out[i] = counts[0];", "more than one atomicAdd"),
        ("    for (", "    if (n > 3) for (", "every thread"),
        ("atomicAdd(&counts", "int old = atomicAdd(&counts", "old value"),
    ],
)
def test_a_histogram_is_left_alone_where_that_could_go_wrong(look: Look, old: str, new: str, reason: str) -> None:
    found = look(kernel(HISTOGRAM.replace(old, new)), "private-histogram")
    assert not found.variants
    assert any(reason in said for said in found.refusals), found.refusals


def test_lanes_add_together_only_where_the_address_is_the_same_for_all(look: Look) -> None:
    same = kernel("    if (in[threadIdx.x] > 0) atomicAdd(counts, 1);")
    assert "atomicAdd(counts, total);" in look(same, "aggregated-atomics").after()
    assert not look(kernel("    atomicAdd(&counts[threadIdx.x % 7], 1);"), "aggregated-atomics").variants
    assert not look(kernel("    if (threadIdx.x == 0) atomicAdd(counts, 1);"), "aggregated-atomics").variants
    assert not look(same, "aggregated-atomics", block=(16, 16, 1)).variants
    amounts = kernel("    atomicAdd(counts, n);")
    assert "__reduce_add_sync" in look(amounts, "aggregated-atomics").after()
    assert not look(amounts, "aggregated-atomics", capability=75).variants
    assert not look(kernel("    atomicAdd(out, 1.0f);"), "aggregated-atomics").variants


MAIN = """
int main() {
    float *a, *b; int* c;
    cudaMalloc(&a, 4); cudaMalloc(&b, 4); cudaMalloc(&c, 4);
    kernel<<<1, 32>>>(a, b, c, 7);
}
"""


def test_a_load_that_stays_the_same_is_hoisted_only_out_of_a_loop_that_runs(look: Look) -> None:
    body = "    for (int k = 0; k < 4; ++k) {\n        out[k] = in[n] * k;\n    }"
    assert "const float same_in = in[n];" in look(kernel(body, main=MAIN), "hoist-loads").after()
    for changed, main, reason in (
        (body.replace("k < 4", "k < n"), MAIN, "may not run"),
        (body, MAIN.replace("(a, b,", "(a, a,"), "overlap"),
        (body.replace("in[n] * k", "k > 1 ? in[n] : 0.0f"), MAIN, "condition"),
        (body.replace("out[k] =", "n += 1; out[k] ="), MAIN, "no load"),
    ):
        found = look(kernel(changed, main=main), "hoist-loads")
        assert not found.variants
        assert any(reason in said for said in found.refusals), found.refusals


def test_launch_bounds_need_permission_and_a_profile(look: Look) -> None:
    text = sample("stencil")
    allowed = look(
        text, "launch-bounds", "interior::update", block=(8, 8, 4), registers=86.0, allow=frozenset({"launch-bounds"})
    )
    assert {each.label for each in allowed.variants} == {"(256)", "(256, 3)", "(256, 4)"}
    assert "void __launch_bounds__(256) update(" in allowed.after()
    assert "allow 'launch-bounds'" in look(text, "launch-bounds", "interior::update").refusals[0]
    unknown = look(text, "launch-bounds", "interior::update", registers=None, allow=frozenset({"launch-bounds"}))
    assert not unknown.variants


def test_a_division_by_the_block_size_is_by_the_profiled_constant_if_it_is_that(look: Look) -> None:
    found = look(kernel("    out[n / blockDim.x] = in[n % blockDim.x];"), "narrow-division")
    assert "(blockDim.x == 256u ? (n) / 256u : (n) / blockDim.x)" in found.after()


def test_a_square_is_not_called_exact(look: Look) -> None:
    found = look(sample("stencil"), "square-by-product", "boundary::update")
    assert "exp(-0.05 * (distance * distance))" in found.after()
    assert not found.variants[0].exact
    assert not look(
        sample("stencil").replace("pow(distance, 2.0)", "pow(distance, 3.0)"), "square-by-product", "boundary::update"
    ).variants


def test_a_literal_is_exact_only_as_a_power_of_two_of_an_integer(look: Look) -> None:
    text = sample("sobol")
    assert look(text, "float-literals", "sobol_kernel").variants[0].exact
    other = text.replace("= x * 2.3283064365386963e-10;\n}", "= x * 2.3283064365386962e-9;\n}", 1)
    assert not look(other, "float-literals", "sobol_kernel").variants[0].exact


SEARCH = """__device__ int kernel(const double* at, int count, double wanted)
{
    int low = 0, high = count - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (at[middle] > wanted) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}
"""


def test_a_search_looks_ahead_and_other_loops_do_not(look: Look) -> None:
    assert "const bool at_below = at[below] > wanted;" in look(SEARCH, "lookahead-search").after()
    for old, new in (
        ("high - low > 1", "high - low > 0"),
        ("(low + high) / 2", "(low + high) / 3"),
        ("at[middle] > wanted", "at[middle] > at[low]"),
        ("low = middle;", "low = middle + 1;"),
        ("at[middle] > wanted", "next(at) > wanted"),
    ):
        assert not look(SEARCH.replace(old, new), "lookahead-search").variants, new


def test_the_tiled_split_reaches_every_pair_once() -> None:
    for points, dimensions, width in ((7, 16, 8), (13, 8, 4), (5, 32, 16), (1, 8, 8)):
        pairs = set()
        for item in range(points * dimensions):
            inside = item % (points * width)
            pairs.add((inside // width, item // (points * width) * width + inside % width))
        assert pairs == {(point, dimension) for point in range(points) for dimension in range(dimensions)}


def test_the_contiguous_tree_adds_the_same_pairs_in_the_same_steps() -> None:
    for threads in (32, 48, 256, 1):
        step = 1
        while step < threads:
            old = {(t, t + step) for t in range(threads) if t % (2 * step) == 0}
            new = {(2 * step * t, 2 * step * t + step) for t in range(threads) if 2 * step * t < threads}
            assert old == new
            step *= 2
