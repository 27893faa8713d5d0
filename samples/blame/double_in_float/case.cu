// Literals without the suffix f make a float kernel compute in double precision.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void double_in_float(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = input[i];
#pragma unroll 1
    for (int r = 0; r < 512; ++r) {
        value = value * 0.7 + 0.1;  //@ pattern double_in_float
        value = value - value * value * 0.05;  //@ pattern double_in_float
    }
    output[i] = value;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("double_in_float", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        double_in_float<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
