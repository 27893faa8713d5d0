// Neighbouring threads take different sides of a branch with much work on both.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void divergent_branch(const uint32_t* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t word = input[i];
    float sum = 1.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        if ((word >> (r & 15)) & 1u) {  //@ pattern divergent_branch
#pragma unroll 1
            for (int k = 0; k < 32; ++k) sum = sum * 0.999f + 0.25f;
        } else {
#pragma unroll 1
            for (int k = 0; k < 32; ++k) sum = sqrtf(sum + 2.0f);
        }
    }
    output[i] = sum;
}

int main()
{
    uint32_t* input = random_words(kCount, 1);
    return run_case("divergent_branch", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        divergent_branch<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
