// Sixteen blocks on a device with many more multiprocessors.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 16;
constexpr int kThreads = 256;

__global__ void few_blocks(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 512; ++r) {
        float value = input[(i + r * 4096) & (kCount - 1)];  //@ cause
        sum = sum * 0.5f + value;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("few_blocks", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        few_blocks<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
