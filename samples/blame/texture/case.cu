// A fetch through a texture object whose value is needed at once.

#include "../harness.cuh"

constexpr int kCount = 1 << 25;
constexpr int kBlocks = 132 * 8;
constexpr int kThreads = 256;

__global__ void texture(cudaTextureObject_t table, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < 64; ++r) {
        float value = tex1Dfetch<float>(table, (i + r * 270336) & (kCount - 1));  //@ cause
        sum = sum * 0.5f + value;  //@ waits
    }
    output[i] = sum;
}

int main()
{
    float* input = random_floats(kCount, 1);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = input;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = (size_t)kCount * sizeof(float);
    cudaTextureDesc description = {};
    cudaTextureObject_t table;
    CHECK(cudaCreateTextureObject(&table, &resource, &description, nullptr));
    return run_case("texture", (size_t)kBlocks * kThreads, 0xff, [&](uint32_t* output) {
        texture<<<kBlocks, kThreads>>>(table, (float*)output);
    });
}
