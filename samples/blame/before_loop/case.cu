// A load before a loop and one inside it, both needed in every turn: the one inside is waited
// for.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void before_loop(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float scale = input[kCount - 1 - i];
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float value = input[(i + r * 270336) & (kCount - 1)];  //@ cause
        sum += value * scale;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("before_loop", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        before_loop<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
