// Small kernels in many styles: what the guardrails' corpus rewrites.

#include <cfloat>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cooperative_groups.h>
#include <cuda_fp16.h>

#define CHECK(call) check((call), #call, __LINE__)
#define TILE 32
#define SQUARE(x) ((x) * (x))
#define RUN_SHELL(command) system(command)
#define FAST_EXP __expf
#define RAW(text) asm volatile(text)

typedef float real;
using halfling = __half;

constexpr int kThreads = 256;
constexpr int kBins = 64;

__constant__ float weights[9];
__device__ unsigned int launches_so_far = 0;
__device__ float kept_result[1024];

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

static int host_only(int n)
{
    return std::rand() % n;
}

struct Particle {
    float3 at;
    float mass;
};

__device__ __forceinline__ float squared(float x)
{
    return x * x;
}

__host__ __device__ inline int wrap(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

__device__ float polynomial(const float* c, int degree, float x)
{
    float sum = 0.0f;
    for (int i = degree; i >= 0; --i) {
        sum = sum * x + c[i];
    }
    return sum;
}

__global__ void saxpy(float a, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

__global__ void row_sums(const float* m, float* sums, int rows, int columns)
{
    __shared__ float part[kThreads];
    int row = blockIdx.x;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        sum += m[(size_t)row * columns + c];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) part[threadIdx.x] += part[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = part[0];
}

// Counts bytes by value: contended atomics on a few addresses.
__global__ void histogram(const unsigned char* bytes, unsigned int* bins, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&bins[bytes[i] % kBins], 1u);
    }
}

__global__ void transpose(const float* in, float* out, int n)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void matmul(const float* a, const float* b, float* c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        sum += a[row * n + k] * b[k * n + col];
    }
    c[row * n + col] = sum;
}

__global__ void blur(const float* in, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            int sx = min(max(x + dx, 0), width - 1);
            int sy = min(max(y + dy, 0), height - 1);
            sum += weights[(dy + 1) * 3 + dx + 1] * in[sy * width + sx];
        }
    }
    out[y * width + x] = sum;
}

__global__ void energy(const double* mass, const double* velocity, double* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = velocity[i];
    double half = 0.5;
    out[i] = half * mass[i] * pow(v, 2.0);
}

namespace physics {
namespace {

// Attraction of every particle on one.
__global__ void forces(const Particle* particles, float3* force, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float fx = 0.0f, fy = 0.0f, fz = 0.0f;
    for (int j = 0; j < n; ++j) {
        float dx = particles[j].at.x - particles[i].at.x;
        float dy = particles[j].at.y - particles[i].at.y;
        float dz = particles[j].at.z - particles[i].at.z;
        float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;
        float inv = 1.0f / sqrtf(r2);
        float s = particles[j].mass * inv * inv * inv;
        fx += s * dx;
        fy += s * dy;
        fz += s * dz;
    }
    force[i] = make_float3(fx, fy, fz);
}

}  // namespace

__global__ void step(float* x, const float* v, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += v[i] * dt;
}

__global__ void step(double* x, const double* v, double dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += v[i] * dt;
}

}  // namespace physics

template <typename T, int kBlock>
__global__ void block_max(const T* in, T* out, size_t n)
{
    __shared__ T best[kBlock];
    size_t i = (size_t)blockIdx.x * kBlock + threadIdx.x;
    best[threadIdx.x] = i < n ? in[i] : in[0];
    __syncthreads();
    for (int w = kBlock / 2; w > 0; w >>= 1) {
        if (threadIdx.x < w) best[threadIdx.x] = max(best[threadIdx.x], best[threadIdx.x + w]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = best[0];
}

extern "C" __global__ void gather(const int* __restrict__ index, const float* __restrict__ table, float* __restrict__ out,
                                  int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[index[i]];
}

__global__ void __launch_bounds__(kThreads) normalize(float* rows, int columns)
{
    float* row = rows + (size_t)blockIdx.x * columns;
    float largest = -FLT_MAX;
    for (int c = 0; c < columns; ++c) largest = fmaxf(largest, row[c]);
    float sum = 0.0f;
    for (int c = 0; c < columns; ++c) sum += expf(row[c] - largest);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) row[c] = expf(row[c] - largest) / sum;
}

__global__ void evaluate(const float* c, int degree, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = polynomial(c, degree, x[i]);
}

__global__ void lanes(unsigned int* out)
{
    unsigned int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    out[blockIdx.x * blockDim.x + threadIdx.x] = lane;
}

__global__ void collatz(const unsigned int* start, unsigned int* steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int value = start[i];
    unsigned int count = 0;
    while (value != 1) {
        if (value % 2 == 0) {
            value = value / 2;
        } else {
            value = 3 * value + 1;
        }
        count++;
    }
    steps[i] = count;
}

__global__ void spmv(const int* offsets, const int* columns, const float* values, const float* x, float* y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float dot = 0.0f;
        for (int k = offsets[row]; k < offsets[row + 1]; k++) {
            dot += values[k] * x[columns[k]];
        }
        y[row] = dot;
    }
}

__global__ void traced(float* data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef TRACE
    if (i == 0) printf("n = %d\n", n);
#endif
    if (i < n) data[i] = SQUARE(data[i]) * 3.0f;
}

__global__ void parent(float* data, int n)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = (float)n;
    }
}

__global__ void wave(const float* before, const float* now, float* after, int n, float c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int left = wrap(i - 1, n);
    int right = wrap(i + 1, n);
    after[i] = 2.0 * now[i] - before[i] + c * (now[left] - 2.0 * now[i] + now[right]);
}

__global__ void row_means(const float* m, float* means, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int k = 0; k < columns; ++k) sum += m[(size_t)row * columns + k];
    means[row] = (float)(sum / (double)columns);
}

int main()
{
    float* x;
    CHECK(cudaMalloc(&x, 1024 * sizeof(float)));
    saxpy<<<4, kThreads>>>(2.0f, x, x, host_only(1024));
    CHECK(cudaDeviceSynchronize());
    physics::forces<<<1, 32>>>(nullptr, nullptr, 0);
    block_max<float, 128><<<1, 128>>>(x, x, 0);
    CHECK(cudaFree(x));
    return 0;
}
