// Every load's address is the value of the load before it.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void pointer_chase(const uint32_t* next, uint32_t* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t node = i * 124u;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        node = next[node & (kCount - 1)];  //@ cause //@ waits
    }
    output[i] = node;
}

int main()
{
    uint32_t* next = random_words(kCount, 1);
    return run_case("pointer_chase", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        pointer_chase<<<kBlocks, kThreads>>>(next, output);
    });
}
