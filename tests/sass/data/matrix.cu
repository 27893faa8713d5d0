// A warpgroup matrix product that is awaited, and an mbarrier that is waited for. Built with
//   nvcc -cubin -lineinfo -arch=sm_90a matrix.cu -o matrix-sm90a.cubin
#include <cstdint>

extern "C" __global__ void matrix(float* out, uint64_t left, uint64_t right, int count, unsigned bar)
{
    float d[4] = {};
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(left + k), "l"(right + k), "r"(1));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L; }"
                     :: "r"(bar), "r"(k & 1) : "memory");
    }
    for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = d[k];
}
