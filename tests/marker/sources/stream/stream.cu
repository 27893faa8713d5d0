// Memory streaming: copy, multiply, add, triad and the scalar product of long vectors.
//
// usage: stream small|default|large | stream ELEMENTS

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "stream.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kThreads = 256;
constexpr int kDotBlocks = 264;
constexpr double kScalar = 0.4;

__global__ void copy_kernel(const double* a, double* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i];
}

__global__ void mul_kernel(double* b, const double* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = kScalar * c[i];
}

__global__ void add_kernel(const double* a, const double* b, double* c, int n)
//@ lens("% of GPU time") lens("memory-bound")
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
    //@ diag("long_scoreboard", "91%") hint("95 % long_scoreboard")
}

__global__ void triad_kernel(double* a, const double* b, const double* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = kScalar * c[i] + b[i];
    //@ gone()
}

// These lines were typed after the kernel was profiled: what follows them moved.
//
// Every block sums its share of the products; the host adds the blocks' sums.
__global__ void dot_kernel(const double* a, const double* b, double* sums, int n)
{
    __shared__ double partial[kThreads];
    int local = threadIdx.x;
    int chunk = (n + gridDim.x - 1) / gridDim.x;
    int first = blockIdx.x * chunk;
    int last = min(first + chunk, n);

    partial[local] = 0.0;
    for (int i = first + local; i < last; i += blockDim.x) {
        partial[local] += a[i] * b[i];
        //@ diag("long_scoreboard", "92%") hint("94 % long_scoreboard") hover("dot_kernel") hover("long_scoreboard")
    }
    __syncthreads();

    for (int step = 1; step < blockDim.x; step *= 2) {
        if (local % (2 * step) == 0) {
            partial[local] += partial[local + step];
        }
        __syncthreads();
    }
    if (local == 0) sums[blockIdx.x] = partial[0];
}

static uint64_t hash_double(uint64_t hash, double value)
{
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return (hash ^ bits) * 0x100000001b3ull;
}

static bool close_to(double got, double expected, double tolerance)
{
    return std::fabs(got - expected) <= tolerance * std::fabs(expected);
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    int n = 0;
    if (!std::strcmp(input, "small")) n = 1 << 18;
    else if (!std::strcmp(input, "default")) n = 1 << 24;
    else if (!std::strcmp(input, "large")) n = 1 << 26;
    else n = std::atoi(input);
    if (n < 1) {
        std::fprintf(stderr, "usage: stream small|default|large | stream ELEMENTS\n");
        return 2;
    }

    std::vector<double> start(n);
    uint64_t state = 88172645463325252ull;
    for (double& v : start) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        v = 0.5 + (double)(state >> 11) / 9007199254740992.0;
    }

    size_t bytes = (size_t)n * sizeof(double);
    double *a, *b, *c, *sums;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&c, bytes));
    CHECK(cudaMalloc(&sums, kDotBlocks * sizeof(double)));
    CHECK(cudaMemcpy(a, start.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(b, 0xff, bytes));
    CHECK(cudaMemset(c, 0xff, bytes));

    int blocks = (n + kThreads - 1) / kThreads;
    const char* names[] = {"copy_kernel", "mul_kernel", "add_kernel", "triad_kernel", "dot_kernel"};
    const double moved[] = {2.0, 2.0, 3.0, 3.0, 2.0};
    cudaEvent_t marks[6];
    for (cudaEvent_t& m : marks) CHECK(cudaEventCreate(&m));
    const int rounds = 3;
    float best[5] = {1e30f, 1e30f, 1e30f, 1e30f, 1e30f};
    for (int round = 0; round < rounds; ++round) {
        CHECK(cudaEventRecord(marks[0]));
        copy_kernel<<<blocks, kThreads>>>(a, c, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[1]));
        mul_kernel<<<blocks, kThreads>>>(b, c, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[2]));
        add_kernel<<<blocks, kThreads>>>(a, b, c, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[3]));
        triad_kernel<<<blocks, kThreads>>>(a, b, c, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[4]));
        dot_kernel<<<kDotBlocks, kThreads>>>(a, b, sums, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[5]));
        CHECK(cudaEventSynchronize(marks[5]));
        for (int k = 0; k < 5; ++k) {
            float ms;
            CHECK(cudaEventElapsedTime(&ms, marks[k], marks[k + 1]));
            if (ms < best[k]) best[k] = ms;
        }
    }

    std::vector<double> ha(n), hb(n), hc(n), hsums(kDotBlocks);
    CHECK(cudaMemcpy(ha.data(), a, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hb.data(), b, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hc.data(), c, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hsums.data(), sums, kDotBlocks * sizeof(double), cudaMemcpyDeviceToHost));

    bool ok = true;
    double dot = 0.0, expected_dot = 0.0;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < n; ++i) {
        double ea = start[i], eb = 0.0, ec = 0.0;
        for (int round = 0; round < rounds; ++round) {
            eb = kScalar * ea;
            ec = ea + eb;
            ea = eb + kScalar * ec;
        }
        ok = ok && close_to(ha[i], ea, 1e-13) && close_to(hb[i], eb, 1e-13) && close_to(hc[i], ec, 1e-13);
        hash = hash_double(hash_double(hash_double(hash, ha[i]), hb[i]), hc[i]);
        expected_dot += ea * eb;
    }
    for (double s : hsums) dot += s;
    ok = ok && close_to(dot, expected_dot, 1e-9);
    hash = hash_double(hash, dot);

    std::printf("elements %d dot %.17g\n", n, dot);
    for (int k = 0; k < 5; ++k)
        std::printf("time %s: %.3f us, %.0f GB/s\n", names[k], best[k] * 1e3,
                    moved[k] * bytes / (best[k] * 1e6));
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaFree(sums));
    return ok ? 0 : 1;
}
