// A store whose register is computed anew right after it: a write after read.

#include "../harness.cuh"

constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void store_operand(float4* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 value = make_float4(i, i + 1, i + 2, i + 3);
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        output[(r & 15) * kBlocks * kThreads + i] = value;  //@ cause
        value.x = value.x * 0.5f + 1.0f;  //@ waits
        value.y = value.y * 0.5f + 2.0f;
        value.z = value.z * 0.5f + 3.0f;
        value.w = value.w * 0.5f + 4.0f;
    }
}

int main()
{
    return run_case("store_operand", (size_t)16 * kBlocks * kThreads * 4, 0xff, [&](uint32_t* output) {
        store_operand<<<kBlocks, kThreads>>>((float4*)output);
    });
}
