// Eight small kernels at sixteen sizes each, 128 launches in all: a set of observations in which
// the amount of work changes and the code does not.
//
// usage: sweep small|default|large | sweep LARGEST

#include <algorithm>
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
    std::fprintf(stderr, "sweep.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kThreads = 256;
constexpr int kColumns = 64;
constexpr int kBins = 256;

__global__ void scale(const float* x, const float*, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.4f * x[i];
}

__global__ void add(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}

__global__ void block_dot(const float* x, const float* y, float* out, int n)
{
    __shared__ float partial[kThreads];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] * y[i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (i < n) out[i] = partial[0];
}

// One thread a row of kColumns values.
__global__ void row_sum(const float* x, const float*, float* out, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n / kColumns) return;
    float sum = 0.0f;
    for (int c = 0; c < kColumns; ++c) sum += x[row * kColumns + c];
    for (int c = 0; c < kColumns; ++c) out[row * kColumns + c] = sum;
}

__global__ void transpose(const float* x, const float*, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int rows = n / kColumns;
    if (i < n) out[(i % kColumns) * rows + i / kColumns] = x[i];
}

__global__ void blur(const float* x, const float*, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -4; k <= 4; ++k) {
        int at = min(max(i + k, 0), n - 1);
        sum += x[at] / (1.0f + k * k);
    }
    out[i] = sum;
}

__global__ void polynomial(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i], sum = y[i];
    for (int k = 0; k < 64; ++k) sum = sum * value + 0.25f;
    out[i] = sum;
}

// The share of the block's values in each bin, counted in shared memory.
__global__ void bin_share(const float* x, const float*, float* out, int n)
{
    __shared__ int counts[kBins];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    counts[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&counts[(int)(x[i] * x[i] * kBins)], 1);
    __syncthreads();
    if (i < n) out[i] = (float)counts[threadIdx.x] / kThreads;
}

typedef void (*Kernel)(const float*, const float*, float*, int);

// What each kernel leaves at place i, computed plainly on the host.
static double expected(int kernel, const std::vector<float>& x, const std::vector<float>& y, int n, int i)
{
    double sum = 0.0;
    int first = i / kThreads * kThreads;
    switch (kernel) {
    case 0: return 0.4f * x[i];
    case 1: return x[i] + y[i];
    case 2:
        for (int k = first; k < first + kThreads; ++k) sum += (double)x[k] * y[k];
        return sum;
    case 3:
        for (int k = 0; k < kColumns; ++k) sum += x[i / kColumns * kColumns + k];
        return sum;
    case 4: return x[i % (n / kColumns) * kColumns + i / (n / kColumns)];
    case 5:
        for (int k = -4; k <= 4; ++k) sum += x[std::min(std::max(i + k, 0), n - 1)] / (1.0 + k * k);
        return sum;
    case 6:
        sum = y[i];
        for (int k = 0; k < 64; ++k) sum = sum * x[i] + 0.25;
        return sum;
    default:
        for (int k = first; k < first + kThreads; ++k) sum += (int)(x[k] * x[k] * kBins) == i - first;
        return sum / kThreads;
    }
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    long long largest = 0;
    if (!std::strcmp(input, "small")) largest = 1 << 16;
    else if (!std::strcmp(input, "default")) largest = 1 << 22;
    else if (!std::strcmp(input, "large")) largest = 1 << 23;
    else largest = std::atoll(input);
    if (largest < 16 * kThreads || largest > (1 << 28)) {
        std::fprintf(stderr, "usage: sweep small|default|large | sweep LARGEST (at least %d)\n", 16 * kThreads);
        return 2;
    }

    std::vector<float> x(largest), y(largest), out(largest);
    uint64_t state = 2718281828ull;
    auto uniform = [&state]() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (float)(state >> 41) / 8388608.0f;
    };
    for (float& v : x) v = uniform();
    for (float& v : y) v = uniform();
    float *d_x, *d_y, *d_out;
    CHECK(cudaMalloc(&d_x, largest * sizeof(float)));
    CHECK(cudaMalloc(&d_y, largest * sizeof(float)));
    CHECK(cudaMalloc(&d_out, largest * sizeof(float)));
    CHECK(cudaMemcpy(d_x, x.data(), largest * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_y, y.data(), largest * sizeof(float), cudaMemcpyHostToDevice));

    const Kernel kernels[] = {scale, add, block_dot, row_sum, transpose, blur, polynomial, bin_share};
    const int kernel_count = sizeof kernels / sizeof kernels[0];
    bool ok = true;
    int launches = 0;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int step = 1; step <= 16; ++step) {
        int n = (int)(largest * step / 16) / kThreads * kThreads;
        for (int k = 0; k < kernel_count; ++k) {
            CHECK(cudaMemset(d_out, 0xff, n * sizeof(float)));
            kernels[k]<<<n / kThreads, kThreads>>>(d_x, d_y, d_out, n);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
            ++launches;
            for (int i = 0; i < n; i += n / 257 + 1) {
                double want = expected(k, x, y, n, i);
                ok = ok && std::fabs(out[i] - want) <= 1e-4 * std::fabs(want) + 1e-6;
            }
            for (int i = 0; i < n; ++i) {
                uint32_t word;
                std::memcpy(&word, &out[i], sizeof word);
                hash = (hash ^ word) * 0x100000001b3ull;
            }
        }
    }
    std::printf("largest %lld launches %d\n", largest, launches);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    CHECK(cudaFree(d_out));
    return ok ? 0 : 1;
}
