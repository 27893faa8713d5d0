// Every thread reads single bytes, though neighbouring bytes are all wanted.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void narrow_loads(const unsigned char* input, uint32_t* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char* mine = input + (size_t)i * 256;
    uint32_t sum = 0;
    for (int k = 0; k < 256; ++k) {
        sum = sum * 3 + mine[k];  //@ pattern narrow_loads
    }
    output[i] = sum;
}

int main()
{
    uint32_t* input = random_words(kCount, 1);
    return run_case("narrow_loads", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        narrow_loads<<<kBlocks, kThreads>>>((const unsigned char*)input, output);
    });
}
