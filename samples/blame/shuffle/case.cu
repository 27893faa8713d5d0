// A chain of shuffles: each value goes through the exchange before it is used.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void shuffle(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = input[i];
#pragma unroll 1
    for (int r = 0; r < 4096; ++r) {
        float other = __shfl_xor_sync(0xffffffffu, value, 1);  //@ cause
        value = value * 0.5f + other * 0.25f;  //@ waits
    }
    output[i] = value;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("shuffle", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        shuffle<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
