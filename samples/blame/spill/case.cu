// More live values than the registers that the launch bounds leave, so that the compiler
// spills.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 2;
constexpr int kThreads = 1024;

constexpr int kValues = 48;

__global__ void __launch_bounds__(1024, 2) spill(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[kValues];
    for (int k = 0; k < kValues; ++k) values[k] = input[(i * kValues + k) & (kCount - 1)];
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
#pragma unroll
        for (int k = 0; k < kValues; ++k) {
            values[k] = values[k] * 0.5f + values[(k * 7 + 11) % kValues];  //@ cause //@ waits
        }
    }
    float sum = 0.0f;
    for (int k = 0; k < kValues; ++k) sum += values[k];
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("spill", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        spill<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
