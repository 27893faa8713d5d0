// All threads of a warp read the same bank of shared memory.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void bank_conflicts(const float* input, float* output)
{
    __shared__ float table[kThreads * 32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < kThreads * 32; k += blockDim.x) table[k] = input[k];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 256; ++r) {
        float value = table[threadIdx.x * 32 + (r & 31)];  //@ cause //@ pattern bank_conflicts
        sum = sum * 0.5f + value;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("bank_conflicts", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        bank_conflicts<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
