// All threads add to the same few counters in global memory.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void contended_atomics(const uint32_t* input, uint32_t* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < 8; ++r) {
        uint32_t word = input[(i + r * 270336) & (kCount - 1)];
        atomicAdd(&output[word % 4], word & 15u);  //@ pattern contended_atomics
    }
}

int main()
{
    uint32_t* input = random_words(kCount, 1);
    return run_case("contended_atomics", 4, 0, [&](uint32_t* output) {
        contended_atomics<<<kBlocks, kThreads>>>(input, output);
    });
}
