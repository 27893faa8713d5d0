// Adjacent difference by segments: out[i] = in[i] - in[i - 1], where the first element of every
// segment is kept as it is. The segments all have the same length.
//
// usage: adjacent small|default|large | adjacent ELEMENTS SEGMENT

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "adjacent.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kThreads = 64;
constexpr int kItemsPerThread = 16;

// Every thread works through a run of neighbouring elements.
__global__ void adjacent_kernel(const int* in, int* out, long long count, long long segment)
{
    long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * kItemsPerThread;
    for (int k = 0; k < kItemsPerThread; ++k) {
        long long i = first + k;
        if (i < count) {
            if (i % segment == 0) {
                out[i] = in[i];
            } else {
                out[i] = in[i] - in[i - 1];
            }
        }
    }
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    long long count = 0, segment = 0;
    if (argc == 3) {
        count = std::atoll(argv[1]);
        segment = std::atoll(argv[2]);
    } else if (!std::strcmp(input, "small")) {
        count = 1 << 20;
        segment = 1000;
    } else if (!std::strcmp(input, "default")) {
        count = 1 << 25;
        segment = 1000;
    } else if (!std::strcmp(input, "large")) {
        count = 1 << 27;
        segment = 4096;
    }
    if (count < 1 || segment < 1) {
        std::fprintf(stderr, "usage: adjacent small|default|large | adjacent ELEMENTS SEGMENT\n");
        return 2;
    }

    std::vector<int> in(count), out(count);
    uint64_t state = 1234567ull;
    for (int& v : in) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        v = (int)(state >> 34);
    }

    int *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, count * sizeof(int)));
    CHECK(cudaMalloc(&d_out, count * sizeof(int)));
    CHECK(cudaMemcpy(d_in, in.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_out, 0xff, count * sizeof(int)));

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    long long per_block = (long long)kThreads * kItemsPerThread;
    unsigned blocks = (unsigned)((count + per_block - 1) / per_block);
    std::vector<float> times;
    for (int i = 0; i < 5; ++i) {
        CHECK(cudaEventRecord(begin));
        adjacent_kernel<<<blocks, kThreads>>>(d_in, d_out, count, segment);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    CHECK(cudaMemcpy(out.data(), d_out, count * sizeof(int), cudaMemcpyDeviceToHost));

    bool ok = true;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (long long i = 0, place = 0; i < count; ++i) {
        int expected = place == 0 ? in[i] : in[i] - in[i - 1];
        ok = ok && out[i] == expected;
        hash = (hash ^ (uint32_t)out[i]) * 0x100000001b3ull;
        if (++place == segment) place = 0;
    }
    std::printf("elements %lld segment %lld\n", count, segment);
    std::printf("time adjacent_kernel: %.3f us\n", times[times.size() / 2] * 1e3);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return ok ? 0 : 1;
}
