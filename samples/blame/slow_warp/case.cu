// One warp of a block computes for long while the others wait at the barrier.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void slow_warp(const float* input, float* output)
{
    __shared__ float shared_scale;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = input[i], sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        if (threadIdx.x < 32) {
#pragma unroll 1
            for (int k = 0; k < 256; ++k) value = value * 0.999f + 0.25f;  //@ cause
            if (threadIdx.x == 0) shared_scale = value;
        }
        __syncthreads();  //@ waits
        sum += shared_scale;
        __syncthreads();
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("slow_warp", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        slow_warp<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
