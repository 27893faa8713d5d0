// Large tables in shared memory leave room for few warps.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 16;
constexpr int kThreads = 64;

__global__ void low_occupancy(const float* input, float* output)
{
    __shared__ float table[11 * 1024];  //@ pattern low_occupancy
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < 11 * 1024; k += blockDim.x) table[k] = input[k];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float value = input[(i + r * 270336) & (kCount - 1)];  //@ cause
        sum = sum * 0.5f + value * table[(threadIdx.x * 7 + r) & 8191];  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("low_occupancy", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        low_occupancy<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
