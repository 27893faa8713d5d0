// Small kernels whose machine code shows what the decoder must read. Built with
//   nvcc -cubin -lineinfo -arch=sm_90 features.cu -o features-sm90.cubin      (likewise sm_75, sm_80, sm_120)
// by CUDA 13.0; features-sm70.cubin and features-sm80-old.cubin come from the same PTX through ptxas 12.4, which writes
// the older ELF layout.

template <class T>
__device__ __forceinline__ T fetch(const T* from, int at)
{
    return from[at] * T(2);
}

__device__ __forceinline__ float both(const float* from, int at)
{
    float near = fetch(from, at);
    float far = fetch(from + 100, at);
    return near - far;
}

__device__ __noinline__ float heavy(const float* from, int at)
{
    float sum = 0;
    for (int k = 0; k < 7; ++k) sum += from[at * 7 + k] * sum;
    return sum;
}

// A load before the loop, a load carried into the next, and loads through two inlined functions.
extern "C" __global__ void gather(const float* __restrict__ values, const int* index, float* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = values[i];
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
        int at = index[i + k * count];
        sum += both(values, at) + before;
    }
    out[i] = sum;
}

// Shared memory, a barrier, a call, a shuffle and a double-precision division.
extern "C" __global__ void meet(const float* values, float* out, double* ratios)
{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = values[i];
    __syncthreads();
    float sum = heavy(values, i) + tile[255 - threadIdx.x];
    sum += __shfl_xor_sync(~0u, sum, 3);
    ratios[i] = ratios[i] / (double)sum;
    out[i] = sum;
}

// A switch that becomes an indirect branch.
extern "C" __global__ void choose(const int* what, float* out, float* other)
{
    int i = threadIdx.x;
    float v = out[i];
    switch (what[i]) {
        case 0: v += other[1]; break;
        case 1: v *= other[2]; other[3] = v; break;
        case 2: v -= other[3] * v; break;
        case 3: v = __expf(v); other[2] = 1; break;
        case 4: v = other[9] * v; break;
        case 5: v = other[10] * v + 7; other[8] = v; break;
        case 6: v = other[11] * v - other[12]; break;
        case 7: other[7] = v; break;
    }
    out[i] = v;
}
