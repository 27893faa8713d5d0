// A file that offers an attacker what kernels.cu does not: state in every spelling, macros that are statements,
// branches of the preprocessor, locks and labels.

#include <cstdint>
#include <cstdio>

#define CACHED static __device__
#define FORGET volatile
#define EACH for (;;)
#define AT(i, j) ((i) * 4 + (j))
#define DEVICE __device__

__device__ int first_state = 1, second_state = 2;
__device__ __align__(16) float aligned_state[4];
template <class T>
__device__ T generic_state;
__device__ int braced_state{0};
DEVICE int macro_state;
int __device__ turned_state;
__device__ struct Pair {
    int a, b;
} typed_state;
namespace deep {
__device__ int inner_state;
}

__global__ void scaled(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f;
}

__global__ void choices(float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    _Pragma("unroll")
    for (int k = 0; k < 4; k++) sum += (float)k;
#ifdef TRACE
    if (i == 0) printf("n = %d\n", n);
#endif
    if (i < n) y[i] = y[i] * 2.0f + sum;
#ifdef TRACE
    if (i == 0) printf("done\n");
#endif
}

__global__ void queue(const float* x, float* y, unsigned int* counts, int n)
{
    int i = threadIdx.x;
    float value = 0.0f;
    atomicAdd(&counts[0], 1u);
    atomicAdd(&counts[1], 1u);
    if (n < 1) goto end;
    value = x[i % n];
    __syncthreads();
end:
    if (i < n) y[i] = value;
}

__global__ void pick(const float* x, float* even, float* odd, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 2 == 0) {
        even[i / 2] = x[i];
    } else {
        odd[i / 2] = x[i];
    }
}

__global__ void resume(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + first_state;
}

int main()
{
    scaled<<<1, 32>>>(nullptr, nullptr, 0);
    choices<<<1, 32>>>(nullptr, 0);
    queue<<<1, 32>>>(nullptr, nullptr, nullptr, 0);
    pick<<<1, 32>>>(nullptr, nullptr, nullptr, 0);
    resume<<<1, 32>>>(nullptr, nullptr, 0);
    return 0;
}
