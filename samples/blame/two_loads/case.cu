// Two loads whose values meet in one instruction.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void two_loads(const float* left, const float* right, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        int at = (i + r * 270336) & (kCount - 1);
        float a = left[at];  //@ cause
        float b = right[at];  //@ cause
        sum += a * b;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* left = random_floats(kCount, 1);
    float* right = random_floats(kCount, 2);
    return run_case("two_loads", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        two_loads<<<kBlocks, kThreads>>>(left, right, (float*)output);
    });
}
