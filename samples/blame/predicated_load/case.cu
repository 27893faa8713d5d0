// A load that only some threads do, so short that the compiler predicates it.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void predicated_load(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f, value = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        if ((i + r) % 3 != 0)
            value = input[(i + r * 270336) & (kCount - 1)];  //@ cause
        sum = sum * 0.5f + value;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("predicated_load", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        predicated_load<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
