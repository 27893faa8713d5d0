// Division and remainder by numbers that the compiler does not know, in a hot loop.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void integer_division(const uint32_t* input, int rows, int columns, uint32_t* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t sum = 0;
#pragma unroll 1
    for (int r = 0; r < 256; ++r) {
        int at = i + r * 1009;
        int row = at / columns % rows;  //@ pattern integer_division
        int column = at % columns;  //@ pattern integer_division
        sum += input[row * columns + column];
    }
    output[i] = sum;
}

int main()
{
    uint32_t* input = random_words(kCount, 1);
    return run_case("integer_division", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        integer_division<<<kBlocks, kThreads>>>(input, 999, 1001, output);
    });
}
