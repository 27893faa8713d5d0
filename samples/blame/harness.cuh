// What every case of this folder needs around its one kernel: random input, launches, checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

inline void check(cudaError_t status, const char* call, const char* file, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
    std::exit(2);
}

// The first `count` numbers of a linear congruential generator, on the device.
inline uint32_t* random_words(size_t count, uint64_t seed)
{
    std::vector<uint32_t> words(count);
    for (uint32_t& w : words) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        w = (uint32_t)(seed >> 33);
    }
    uint32_t* device;
    CHECK(cudaMalloc(&device, count * sizeof(uint32_t)));
    CHECK(cudaMemcpy(device, words.data(), count * sizeof(uint32_t), cudaMemcpyHostToDevice));
    return device;
}

// `count` floats between 0 and 1, on the device.
inline float* random_floats(size_t count, uint64_t seed)
{
    std::vector<float> values(count);
    for (float& v : values) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        v = (float)(seed >> 41) / 8388608.0f;
    }
    float* device;
    CHECK(cudaMalloc(&device, count * sizeof(float)));
    CHECK(cudaMemcpy(device, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    return device;
}

// Launches three times into an output of `words` 32-bit words that is filled with `fill` bytes
// before; the output must be the same each time and must not be what it was filled with.
template <typename Launch>
int run_case(const char* name, size_t words, int fill, Launch launch)
{
    uint32_t* output;
    CHECK(cudaMalloc(&output, words * sizeof(uint32_t)));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<uint32_t> results[3];
    float ms = 0.0f;
    for (std::vector<uint32_t>& result : results) {
        CHECK(cudaMemset(output, fill, words * sizeof(uint32_t)));
        CHECK(cudaEventRecord(begin));
        launch(output);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        result.resize(words);
        CHECK(cudaMemcpy(result.data(), output, words * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    }
    uint32_t untouched = (uint32_t)fill * 0x01010101u;
    bool ok = results[0] == results[1] && results[1] == results[2];
    ok = ok && std::count(results[0].begin(), results[0].end(), untouched) < (long)(words / 2 + 1);
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint32_t w : results[2]) hash = (hash ^ w) * 0x100000001b3ull;
    std::printf("time %s: %.3f us\n", name, ms * 1e3);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(output));
    return ok ? 0 : 1;
}
