// Total variation of a signal: the sum of |in[i] - in[i - 1]| in every block's piece of it, with
// the block-wide parts of CUB that come with the CUDA toolkit.
//
// usage: cub_adjacent small|default|large | cub_adjacent BLOCKS

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_store.cuh>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "cub_adjacent.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kThreads = 128;
constexpr int kItems = 8;
constexpr int kTile = kThreads * kItems;

struct Distance {
    __device__ int operator()(int right, int left) const { return abs(right - left); }
};

__global__ void variation_kernel(const int* in, int* steps, int* sums)
{
    using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
    using Difference = cub::BlockAdjacentDifference<int, kThreads>;
    using Reduce = cub::BlockReduce<int, kThreads>;
    __shared__ typename Load::TempStorage load_storage;
    __shared__ typename Store::TempStorage store_storage;
    __shared__ typename Difference::TempStorage difference_storage;
    __shared__ typename Reduce::TempStorage reduce_storage;

    int items[kItems];
    int distances[kItems];
    Load(load_storage).Load(in + blockIdx.x * kTile, items);
    Difference(difference_storage).SubtractLeft(items, distances, Distance());
    if (threadIdx.x == 0) distances[0] = 0;
    Store(store_storage).Store(steps + blockIdx.x * kTile, distances);
    int sum = Reduce(reduce_storage).Sum(distances);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    int blocks = 0;
    if (!std::strcmp(input, "small")) blocks = 512;
    else if (!std::strcmp(input, "default")) blocks = 32768;
    else if (!std::strcmp(input, "large")) blocks = 131072;
    else blocks = std::atoi(input);
    if (blocks < 1 || blocks > (1 << 20)) {
        std::fprintf(stderr, "usage: cub_adjacent small|default|large | cub_adjacent BLOCKS\n");
        return 2;
    }

    size_t count = (size_t)blocks * kTile;
    std::vector<int> in(count), steps(count), sums(blocks);
    uint64_t state = 42ull;
    for (int& v : in) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        v = (int)(state >> 46);
    }
    int *d_in, *d_steps, *d_sums;
    CHECK(cudaMalloc(&d_in, count * sizeof(int)));
    CHECK(cudaMalloc(&d_steps, count * sizeof(int)));
    CHECK(cudaMalloc(&d_sums, blocks * sizeof(int)));
    CHECK(cudaMemcpy(d_in, in.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_steps, 0xff, count * sizeof(int)));
    CHECK(cudaMemset(d_sums, 0xff, blocks * sizeof(int)));

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 5; ++i) {
        CHECK(cudaEventRecord(begin));
        variation_kernel<<<blocks, kThreads>>>(d_in, d_steps, d_sums);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    CHECK(cudaMemcpy(steps.data(), d_steps, count * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sums.data(), d_sums, blocks * sizeof(int), cudaMemcpyDeviceToHost));

    bool ok = true;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int b = 0; b < blocks; ++b) {
        int sum = 0;
        for (int k = 0; k < kTile; ++k) {
            size_t i = (size_t)b * kTile + k;
            int expected = k == 0 ? 0 : std::abs(in[i] - in[i - 1]);
            sum += expected;
            ok = ok && steps[i] == expected;
            hash = (hash ^ (uint32_t)steps[i]) * 0x100000001b3ull;
        }
        ok = ok && sums[b] == sum;
        hash = (hash ^ (uint32_t)sums[b]) * 0x100000001b3ull;
    }
    std::printf("elements %zu\n", count);
    std::printf("time variation_kernel: %.3f us\n", times[times.size() / 2] * 1e3);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_steps));
    CHECK(cudaFree(d_sums));
    return ok ? 0 : 1;
}
