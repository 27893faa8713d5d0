// The load stands in a template of a header that the compiler inlines.

#include "../harness.cuh"
#include "gather.cuh"

constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void inlined_template(const float* input, const float* offsets, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float value = gather(input, i + r * 270336);
        sum += value;  //@ waits
    }
    output[i] = sum + gather(offsets, i);
}

int main()
{
    float* input = random_floats(kTableSize, 1);
    return run_case("inlined_template", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        inlined_template<<<kBlocks, kThreads>>>(input, input, (float*)output);
    });
}
