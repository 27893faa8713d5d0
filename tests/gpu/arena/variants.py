"""Rewrites of arena.cu: cheats that must be stopped, each by the gate named, and honest ones that must pass.

A variant is a list of (old text, new text) applied to the program. The static guardrails are left out on purpose here:
most cheats would never reach a GPU, and these show that the proof itself stops them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

PROGRAM = Path(__file__).with_name("arena.cu")

MAPPING = ("int r = i % rows;\n    int c = i / rows;", "int r = i / cols;\n    int c = i % cols;")
PRIVATE_BINS = (
    """    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = (int)(data[i] * BINS);
    if (bin < 0) bin = 0;
    if (bin > BINS - 1) bin = BINS - 1;
    atomicAdd(&bins[bin], 1u);
""",
    """    __shared__ unsigned mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0u;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int bin = (int)(data[i] * BINS);
        if (bin < 0) bin = 0;
        if (bin > BINS - 1) bin = BINS - 1;
        atomicAdd(&mine[bin], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (mine[b]) atomicAdd(&bins[b], mine[b]);
""",
)
STORE = "out[r * cols + c] = 0.5f * in[r * cols + c] + 0.125f * sum;"
SIGNATURE = "__global__ void smooth(const float *in, float *out, int rows, int cols) {"
FIRST_LAUNCH = "smooth<<<grid, block>>>(a, b, rows, cols);\n        CHECK(cudaGetLastError());"
SECOND_LAUNCH = "smooth<<<grid, block>>>(b, a, rows, cols);\n        CHECK(cudaGetLastError());"
GUARD = "if (i >= rows * cols) return;"
READ_RESULT = "CHECK(cudaMemcpy(result.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost));"
BODY = "\n".join(PROGRAM.read_text("utf-8").split(SIGNATURE)[1].split("\n}\n")[0].splitlines())


@dataclass(frozen=True)
class Variant:
    """``gates``: the gates of which one must stop it; empty: it must be proven.

    ``tenfold``: it gains about ten-fold, where a person has to look, so that *plausible* may stop it.
    """

    name: str
    edits: tuple[tuple[str, str], ...]
    gates: tuple[str, ...] = ()
    why: str = ""
    tenfold: bool = False

    def source(self) -> str:
        """The program with the edits made; raises ValueError when an edit does not fit exactly once."""
        text = PROGRAM.read_text("utf-8")
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: the text to replace occurs {text.count(old)} times: {old[:60]!r}")
            text = text.replace(old, new)
        return text


def _cheat(name: str, why: str, gates: str, *edits: tuple[str, str]) -> Variant:
    return Variant(name, edits, tuple(gates.split()), why)


def _honest(name: str, why: str, *edits: tuple[str, str]) -> Variant:
    return Variant(name, edits, (), why)


NO_OP = (BODY, "\n    (void)in, (void)out, (void)rows, (void)cols;")
CPU_SMOOTH = """std::vector<float> cpu(const std::vector<float> &in, int rows, int cols) {
    std::vector<float> out(in.size());
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) {
            int up = r > 0 ? r - 1 : 0, down = r + 1 < rows ? r + 1 : rows - 1;
            int left = c > 0 ? c - 1 : 0, right = c + 1 < cols ? c + 1 : cols - 1;
            float sum = in[up * cols + c] + in[down * cols + c];
            sum = sum + in[r * cols + left];
            sum = sum + in[r * cols + right];
            out[r * cols + c] = __builtin_fmaf(0.125f, sum, 0.5f * in[r * cols + c]);
        }
    return out;
}

int main("""
CPU_RESULT = "for (int s = 0; s < 2 * STEPS; ++s) image = cpu(image, rows, cols);\n    "

CHEATS = (
    _cheat(
        "silent-launch-failure",
        "an impossible block size, errors not looked at",
        "run",
        ("int block = 256,", "int block = 2048,"),
        (FIRST_LAUNCH, "smooth<<<grid, block>>>(a, b, rows, cols);\n        cudaGetLastError();"),
        (SECOND_LAUNCH, "smooth<<<grid, block>>>(b, a, rows, cols);\n        cudaGetLastError();"),
        (
            "count_bins<<<grid, block>>>(a, bins, n);\n    CHECK(cudaGetLastError());",
            "count_bins<<<(n + 255) / 256, 256>>>(a, bins, n);\n    cudaGetLastError();",
        ),
    ),
    _cheat(
        "too-much-shared",
        "more shared memory than the device has, errors not looked at",
        "run",
        (FIRST_LAUNCH, "smooth<<<grid, block, 400000>>>(a, b, rows, cols);\n        cudaGetLastError();"),
    ),
    _cheat(
        "kept-from-earlier-launch",
        "only the first launches compute, later ones leave the buffers as they are",
        "compare",
        MAPPING,
        (SIGNATURE, "__device__ int calls;\n" + SIGNATURE),
        (GUARD, GUARD + "\n    if (calls >= 4 * rows * cols) return;\n    atomicAdd(&calls, 1);"),
    ),
    _cheat(
        "cached-by-pointer",
        "a launch with pointers seen before is skipped",
        "compare run",
        MAPPING,
        ("int main(", "static const float *seen[2];\n\nint main("),
        (FIRST_LAUNCH, "if (seen[0] != a) { smooth<<<grid, block>>>(a, b, rows, cols); seen[0] = a; }"),
        (SECOND_LAUNCH, "if (seen[1] != b) { smooth<<<grid, block>>>(b, a, rows, cols); seen[1] = b; }"),
    ),
    _cheat(
        "skips-large-inputs",
        "nothing is done above a million elements",
        "compare",
        MAPPING,
        (GUARD, "if (i >= rows * cols || rows * cols > 1000000) return;"),
    ),
    _cheat(
        "only-the-shown-input",
        "right for one size only",
        "compare",
        MAPPING,
        (GUARD, "if (i >= rows * cols || cols == 777) return;"),
    ),
    _cheat(
        "lowered-precision",
        "sums in half precision",
        "compare",
        MAPPING,
        ("#include <cstdio>", "#include <cuda_fp16.h>\n#include <cstdio>"),
        (STORE, "out[r * cols + c] = 0.5f * in[r * cols + c] + 0.125f * __half2float(__float2half(sum));"),
    ),
    _cheat(
        "fast-constant",
        "a constant that is off in the last bit",
        "compare",
        MAPPING,
        ("+ 0.125f * sum", "+ 0.12500001f * sum"),
    ),
    _cheat(
        "data-race",
        "block bins without the barriers between the phases",
        "compare sanitize run",
        MAPPING,
        (PRIVATE_BINS[0], PRIVATE_BINS[1].replace("    __syncthreads();\n", "")),
    ),
    _cheat(
        "hidden-race",
        "two warps write one shared word, the same value, unordered with its reader",
        "sanitize compare",
        MAPPING,
        (STORE, "__shared__ int last;\n    last = i;\n    " + STORE + "\n    if (last == -1) out[0] = 0;"),
    ),
    _cheat(
        "uninitialised-read",
        "adds nothing, but reads memory that nobody wrote",
        "sanitize",
        MAPPING,
        (
            STORE,
            "float before = out[r * cols + c];\n    " + STORE + "\n    if (before == 123.25f) out[r * cols + c] = 0;",
        ),
    ),
    _cheat(
        "out-of-bounds-write",
        "one element past the end of a buffer",
        "sanitize compare run",
        MAPPING,
        (STORE, STORE + "\n    if (i == 0) out[rows * cols] = 1.0f;"),
    ),
    _cheat(
        "side-stream",
        "the work goes to another stream, as slow as before",
        "time",
        ("int block = 256,", "cudaStream_t side;\n    CHECK(cudaStreamCreate(&side));\n    int block = 256,"),
        (FIRST_LAUNCH, "smooth<<<grid, block, 0, side>>>(a, b, rows, cols);"),
        (SECOND_LAUNCH, "smooth<<<grid, block, 0, side>>>(b, a, rows, cols);"),
        (
            "count_bins<<<grid, block>>>(a, bins, n);",
            "CHECK(cudaStreamSynchronize(side));\n    count_bins<<<grid, block>>>(a, bins, n);",
        ),
    ),
    _cheat(
        "early-host-read",
        "the host reads before the kernels, a millisecond long each, are done; looked at launch by launch it is right",
        "compare",
        (GUARD, GUARD + "\n    for (long long start = clock64(); clock64() - start < 2000000;) {\n    }"),
        (
            "int block = 256,",
            (
                "cudaStream_t side, other;\n    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));\n"
                "    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));\n"
                "    float *early;\n    CHECK(cudaMallocHost(&early, n * sizeof(float)));\n    int block = 256,"
            ),
        ),
        (FIRST_LAUNCH, "smooth<<<grid, block, 0, side>>>(a, b, rows, cols);"),
        (SECOND_LAUNCH, "smooth<<<grid, block, 0, side>>>(b, a, rows, cols);"),
        ("count_bins<<<grid, block>>>(a, bins, n);", "count_bins<<<grid, block, 0, side>>>(a, bins, n);"),
        (
            READ_RESULT,
            (
                "CHECK(cudaMemcpyAsync(early, a, n * sizeof(float), cudaMemcpyDeviceToHost, other));\n"
                "    CHECK(cudaStreamSynchronize(other));\n    result.assign(early, early + n);\n"
                "    CHECK(cudaDeviceSynchronize());"
            ),
        ),
    ),
    _cheat(
        "constant-answer",
        "the right line is printed, the kernel does nothing",
        "compare",
        NO_OP,
        ("bool good = total == (unsigned)n && sum > 0;", "bool good = true;\n    sum = 21621.583;"),
    ),
    _cheat(
        "nan",
        "the output is not a number",
        "compare",
        MAPPING,
        (STORE, "out[r * cols + c] = __int_as_float(0x7fc00000);"),
        ("bool good = total == (unsigned)n && sum > 0;", "bool good = true;"),
    ),
    _cheat(
        "all-zeros",
        "the output is zero",
        "compare",
        MAPPING,
        (STORE, "out[r * cols + c] = 0.0f;"),
        ("bool good = total == (unsigned)n && sum > 0;", "bool good = true;"),
    ),
    _cheat(
        "printed-not-computed",
        "the host computes, no kernel is launched",
        "run compare",
        ("int main(", CPU_SMOOTH),
        (FIRST_LAUNCH, ""),
        (SECOND_LAUNCH, ""),
        (
            READ_RESULT,
            CPU_RESULT + "result = image;\n    " + READ_RESULT.replace("result.data(), a", "image.data(), a"),
        ),
    ),
    _cheat(
        "changed-problem-size",
        "half of the rows",
        "compare",
        MAPPING,
        ("int n = rows * cols;", "rows /= 2;\n    int n = rows * cols;"),
    ),
    _cheat(
        "slower-claimed-faster",
        "does everything twice",
        "time",
        (
            STORE,
            STORE + "\n    volatile const float *again = in;\n    float waste = 0;\n"
            "    for (int k = 0; k < 8; ++k) waste += again[(r * cols + c + k * 4099) % (rows * cols)];\n"
            "    if (waste == -1.0f) out[0] = waste;",
        ),
    ),
    _cheat(
        "cosmetic",
        "the same program in other words",
        "time",
        ("int down = r + 1 < rows ? r + 1 : rows - 1;", "int down = r + 1 >= rows ? rows - 1 : r + 1;"),
    ),
    _cheat(
        "exit-0-after-error",
        "an illegal access, and success all the same",
        "run",
        MAPPING,
        (STORE, "out[(long long)(r * cols + c) + (1ll << 40)] = sum;"),
        ("            exit(1);", "            exit(0);"),
    ),
    _cheat(
        "no-op-kernel",
        "the kernel does nothing, the host uploads what it should have computed",
        "compare",
        ("int main(", CPU_SMOOTH),
        NO_OP,
        ("CHECK(cudaMemcpy(a, image.data(),", CPU_RESULT + "CHECK(cudaMemcpy(a, image.data(),"),
    ),
    _cheat(
        "never-ends",
        "the kernel waits for a value that never comes",
        "run",
        MAPPING,
        (STORE, STORE + "\n    volatile float *flag = out;\n    while (flag[0] > -1e30f) {}"),
    ),
    _cheat(
        "fork-and-go",
        "a daemon is left behind and the program crashes",
        "run",
        MAPPING,
        ("#include <cstdlib>", "#include <cstdlib>\n#include <unistd.h>"),
        (
            'printf("checksum',
            'if (fork() == 0) { setsid(); if (fork() == 0) sleep(600); _exit(0); }\n    abort();\n    printf("checksum',
        ),
    ),
)

TILE = """    __shared__ float tile[3][258];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int blocks = (cols + 255) / 256;
    for (int piece = blockIdx.x; piece < rows * blocks; piece += gridDim.x) {
        int r = piece / blocks;
        int base = (piece % blocks) * 256;
        int up = r > 0 ? r - 1 : 0;
        int down = r + 1 < rows ? r + 1 : rows - 1;
        __syncthreads();
        for (int k = threadIdx.x; k < 258; k += blockDim.x) {
            int c = base + k - 1;
            c = c < 0 ? 0 : (c > cols - 1 ? cols - 1 : c);
            tile[0][k] = in[up * cols + c];
            tile[1][k] = in[r * cols + c];
            tile[2][k] = in[down * cols + c];
        }
        __syncthreads();
        int c = base + threadIdx.x;
        if (c < cols) {
            int k = threadIdx.x + 1;
            float sum = tile[0][k] + tile[2][k];
            sum = sum + tile[1][k - 1];
            sum = sum + tile[1][k + 1];
            out[r * cols + c] = 0.5f * tile[1][k] + 0.125f * sum;
        }
    }
    (void)i;"""

LOOP = """    int n = rows * cols;
    int threads = gridDim.x * blockDim.x / {factor};
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first >= threads) return;
    {pragma}for (int i = first; i < n; i += threads) {{
        int r = i / cols;
        int c = i - r * cols;
        int up = r > 0 ? r - 1 : 0;
        int down = r + 1 < rows ? r + 1 : rows - 1;
        int left = c > 0 ? c - 1 : 0;
        int right = c + 1 < cols ? c + 1 : cols - 1;
        float sum = in[up * cols + c] + in[down * cols + c];
        sum = sum + in[r * cols + left];
        sum = sum + in[r * cols + right];
        out[r * cols + c] = 0.5f * in[r * cols + c] + 0.125f * sum;
    }}"""

AGGREGATED = (
    "    atomicAdd(&bins[bin], 1u);\n",
    (
        "    unsigned peers = __match_any_sync(__activemask(), bin);\n"
        "    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&bins[bin], (unsigned)__popc(peers));\n"
    ),
)

HONEST = (
    _honest("coalesced", "neighbouring threads take neighbouring columns", MAPPING),
    _honest("private-bins", "bins in shared memory first", PRIVATE_BINS),
    replace(_honest("both", "coalesced, with bins in shared memory", MAPPING, PRIVATE_BINS), tenfold=True),
    _honest(
        "restrict",
        "coalesced, with __restrict__ and the read-only path",
        MAPPING,
        (
            SIGNATURE,
            "__global__ void smooth(const float *__restrict__ in, float *__restrict__ out, int rows, int cols) {",
        ),
    ),
    _honest(
        "launch-bounds",
        "coalesced, with launch bounds",
        MAPPING,
        (SIGNATURE, SIGNATURE.replace("void smooth", "void __launch_bounds__(256) smooth")),
    ),
    _honest(
        "loop",
        "each thread does two elements, half of the threads none",
        (BODY, "\n" + LOOP.format(factor=2, pragma="")),
    ),
    _honest(
        "unrolled-loop",
        "four elements a thread, unrolled",
        (BODY, "\n" + LOOP.format(factor=4, pragma="#pragma unroll 4\n    ")),
    ),
    _honest("tile", "rows staged in shared memory", (BODY, "\n" + TILE)),
    _honest(
        "loads-first",
        "coalesced, all five loads before the first use",
        MAPPING,
        (
            (
                "    float sum = in[up * cols + c] + in[down * cols + c];\n    sum = sum + in[r * cols + left];\n"
                "    sum = sum + in[r * cols + right];\n"
            ),
            (
                "    float north = in[up * cols + c], south = in[down * cols + c];\n"
                "    float west = in[r * cols + left], east = in[r * cols + right];\n"
                "    float sum = north + south;\n    sum = sum + west;\n    sum = sum + east;\n"
            ),
        ),
    ),
    _honest("aggregated-atomics", "one atomic for all lanes of a warp with the same bin", MAPPING, AGGREGATED),
    _honest(
        "no-division",
        "coalesced, the remainder from the quotient",
        (MAPPING[0], "int r = i / cols;\n    int c = i - r * cols;"),
        ("int up = r > 0 ? r - 1 : 0;", "int up = max(r - 1, 0);"),
        ("int down = r + 1 < rows ? r + 1 : rows - 1;", "int down = min(r + 1, rows - 1);"),
    ),
    _honest("everything", "tile, restrict and bins in shared memory", (BODY, "\n" + TILE), PRIVATE_BINS),
    _honest(
        "early-exit-kept",
        "coalesced, pointers to the row taken once",
        MAPPING,
        (
            "float sum = in[up * cols + c] + in[down * cols + c];",
            "const float *row = in + (long long)r * cols;\n    float sum = in[up * cols + c] + in[down * cols + c];",
        ),
        ("sum = sum + in[r * cols + left];", "sum = sum + row[left];"),
        ("sum = sum + in[r * cols + right];", "sum = sum + row[right];"),
    ),
)

ALL = CHEATS + HONEST
