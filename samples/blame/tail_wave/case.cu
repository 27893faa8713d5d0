// One block more than fit on the device at once: a second wave of a single block.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8 + 1;
constexpr int kThreads = 256;

__global__ void tail_wave(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = input[i];
#pragma unroll 1
    for (int r = 0; r < 16384; ++r) value = value * 0.999f + 0.25f;
    output[i] = value;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("tail_wave", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        tail_wave<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
