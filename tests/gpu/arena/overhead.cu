// Kernel times by events, to compare a run with the witness against one without: overhead MEGABYTES LAUNCHES
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scale(const float4 *in, float4 *out, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float4 v = in[i];
        out[i] = make_float4(v.x * 1.5f, v.y + 2.f, v.z * v.z, v.w - 1.f);
    }
}

int main(int argc, char **argv) {
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 512) << 20;
    int launches = argc > 2 ? atoi(argv[2]) : 200;
    float4 *in, *out;
    if (cudaMalloc(&in, bytes) || cudaMalloc(&out, bytes)) return 1;
    std::vector<unsigned> host(bytes / 4);
    unsigned state = 1;
    for (unsigned &word : host) word = (state = state * 1664525u + 1013904223u) & 0x3fffffffu;
    if (cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice)) return 1;
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    std::vector<float> times;
    for (int k = 0; k < launches; ++k) {
        cudaEventRecord(a);
        scale<<<2112, 256>>>(in, out, bytes / 16);
        cudaEventRecord(b);
        if (cudaEventSynchronize(b)) return 1;
        float ms;
        cudaEventElapsedTime(&ms, a, b);
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    printf("median_us %.3f\n", 1000 * times[times.size() / 2]);
    return 0;
}
