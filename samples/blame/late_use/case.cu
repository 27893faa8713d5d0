// A load at the top of a loop whose value is needed only after a long chain of arithmetic.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void late_use(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f, chain = 1.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float value = input[(i + r * 270336) & (kCount - 1)];  //@ cause
        for (int k = 0; k < 16; ++k) chain = chain * 0.999f + 0.5f;
        sum += value * chain;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("late_use", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        late_use<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
