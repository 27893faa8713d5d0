// What the rules for after compiling look at, one variant a cubin:
//     nvcc -arch=sm_90 -cubin -DVARIANT=PLAIN -o plain.cubin variants.cu
#define PLAIN 0
#define FASTER 1
#define PARAMETER 2
#define RENAMED 3
#define EXTRA 4
#define SPILLING 5
#define LOCAL 6
#define BOUNDED 7
#define SHARED 8

#ifndef VARIANT
#define VARIANT PLAIN
#endif

struct Shape {
    int width;
    double scale;
};

#if VARIANT == PARAMETER
#define LAST long long n
#else
#define LAST int n
#endif

#if VARIANT == RENAMED
#define NAME scale_rows_2
#else
#define NAME scale_rows
#endif

#if VARIANT == BOUNDED
#define BOUNDS __launch_bounds__(64)
#elif VARIANT == SPILLING
#define BOUNDS __launch_bounds__(1024, 2)
#else
#define BOUNDS
#endif

#if VARIANT == SHARED
constexpr int kTile = 10000;
#else
constexpr int kTile = 64;
#endif

__global__ void BOUNDS NAME(float* x, Shape shape, LAST)
{
    __shared__ float tile[kTile];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x % kTile] = x[i % n];
    __syncthreads();
    float sum = tile[(threadIdx.x + 1) % kTile] * (float)shape.scale;
#if VARIANT == FASTER
    sum = fmaf(sum, 2.0f, 1.0f);
#elif VARIANT == SPILLING
    float values[48];
    for (int k = 0; k < 48; ++k) values[k] = x[(i * 48 + k) % n];
#pragma unroll 1
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int k = 0; k < 48; ++k) values[k] = values[k] * 0.5f + values[(k * 7 + 11) % 48];
    }
    for (int k = 0; k < 48; ++k) sum += values[k];
#elif VARIANT == LOCAL
    float values[48];
    for (int k = 0; k < 48; ++k) values[k] = x[(i + k) % n];
    for (int k = 0; k < 48; ++k) sum += values[(unsigned)x[k] % 48];
#endif
    x[i % n] = sum;
}

#if VARIANT == EXTRA
__global__ void another(float* x)
{
    x[0] = 1.0f;
}
#endif
