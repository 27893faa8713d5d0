// Runs a CUDA program's kernels on the processor, thread by thread, so that rewrites can be compared bit for bit
// without a GPU. The threads of a block take turns; __syncthreads hands over to the next one. Lanes of a warp never
// run together here, so that a mask of active lanes is the lane alone.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __noinline__
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
template <typename T, int Size> struct alignas(16) Vector4 { T x, y, z, w; };
template <typename T> struct alignas(16) Vector2 { T x, y; };
using float4 = Vector4<float, 4>;
using int4 = Vector4<int, 4>;
using uint4 = Vector4<unsigned, 4>;
using double2 = Vector2<double>;

static dim3 blockIdx, threadIdx, blockDim, gridDim;

namespace emulated {
struct Fiber { ucontext_t context; std::vector<char> stack; dim3 index; bool done; };
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static Fiber* running;
static std::function<void()> work;
inline void body() { work(); running->done = true; swapcontext(&running->context, &scheduler); }
inline void launch(dim3 grid, dim3 block, std::function<void()> kernel) {
    work = kernel;
    gridDim = grid;
    blockDim = block;
    fibers.resize(block.x * block.y * block.z);
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; ++b) {
        blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
        for (unsigned t = 0; t < fibers.size(); ++t) {
            Fiber& f = fibers[t];
            f.stack.resize(64 << 10);
            f.index = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
            f.done = false;
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = f.stack.data();
            f.context.uc_stack.ss_size = f.stack.size();
            f.context.uc_link = nullptr;
            makecontext(&f.context, body, 0);
        }
        for (bool left = true; left;) {
            left = false;
            for (Fiber& f : fibers) {
                if (f.done) continue;
                running = &f;
                threadIdx = f.index;
                swapcontext(&scheduler, &f.context);
                left = left || !f.done;
            }
        }
    }
}
}  // namespace emulated

inline void __syncthreads() { swapcontext(&emulated::running->context, &emulated::scheduler); }
template <typename T, typename U> T atomicAdd(T* at, U amount) { T old = *at; *at = old + (T)amount; return old; }
template <typename T> T __ldg(const T* at) { return *at; }
inline int __ffs(unsigned value) { return __builtin_ffs((int)value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline unsigned __activemask() { return 1u << (threadIdx.x & 31); }
inline int __reduce_add_sync(unsigned, int value) { return value; }
template <typename A, typename B> auto min(A a, B b) -> decltype(a + b) { return a < b ? a : b; }
template <typename A, typename B> auto max(A a, B b) -> decltype(a + b) { return a > b ? a : b; }

typedef int cudaError_t;
typedef int cudaEvent_t;
enum { cudaSuccess = 0, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
inline const char* cudaGetErrorString(cudaError_t) { return ""; }
inline cudaError_t cudaGetLastError() { return 0; }
template <typename T> cudaError_t cudaMalloc(T** p, size_t bytes) {
    *p = (T*)aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset((void*)*p, 0xa5, bytes);
    return 0;
}
inline cudaError_t cudaFree(void* p) { free(p); return 0; }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int) { std::memcpy(to, from, bytes); return 0; }
inline cudaError_t cudaMemset(void* p, int value, size_t bytes) { std::memset(p, value, bytes); return 0; }
inline cudaError_t cudaEventCreate(cudaEvent_t*) { return 0; }
inline cudaError_t cudaEventRecord(cudaEvent_t) { return 0; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return 0; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return 0; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 1.0f; return 0; }
