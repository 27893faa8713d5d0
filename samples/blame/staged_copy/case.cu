// Values go from global memory through a register to shared memory, with a barrier after each
// step.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void staged_copy(const float* input, float* output)
{
    __shared__ float tile[kThreads];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float value = input[(i + r * 270336) & (kCount - 1)];  //@ cause
        tile[threadIdx.x] = value;  //@ waits //@ pattern async_copy
        __syncthreads();
        for (int k = 0; k < 8; ++k) sum += tile[(threadIdx.x + k * 33) % kThreads];
        __syncthreads();
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("staged_copy", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        staged_copy<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
