// Copies from global to shared memory in stages: two groups under way, one awaited. Built with
//   nvcc -cubin -lineinfo -arch=sm_80 pipeline.cu -o pipeline-sm80.cubin      (likewise sm_90)
#include <cuda_pipeline.h>

extern "C" __global__ void pipeline(const float4* in, float4* out, int count)
{
    __shared__ float4 stage[3][128];
    __pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&stage[1][threadIdx.x], in + 128 + threadIdx.x, 16);
    __pipeline_commit();
    float4 sum = {};
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
        __pipeline_memcpy_async(&stage[(k + 2) % 3][threadIdx.x], in + (k + 2) * 128 + threadIdx.x, 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        float4 got = stage[k % 3][127 - threadIdx.x];
        sum.x += got.x;
        sum.y += got.y * got.z * got.w;
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
