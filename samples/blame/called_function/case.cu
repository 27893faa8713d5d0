// The load stands in a device function that is not inlined and waits before it returns.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__device__ __noinline__ float fetch(const float* input, int at)
{
    float value = input[at & (kCount - 1)];  //@ cause
    return value * 2.0f + 1.0f;  //@ waits
}

__global__ void called_function(const float* input, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        sum += fetch(input, i + r * 270336);
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    return run_case("called_function", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        called_function<<<kBlocks, kThreads>>>(input, (float*)output);
    });
}
