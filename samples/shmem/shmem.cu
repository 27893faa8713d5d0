// Shared-memory traffic: a table is cut into 32 x 32 tiles; every tile is transposed and mixed
// in shared memory for some rounds and written back. Done for float and for double.
//
// usage: shmem small|default|large | shmem TILES ROUNDS

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
    std::fprintf(stderr, "shmem.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kSide = 32;
constexpr int kRows = 8;

// A block of 32 x 8 threads works on one tile. Each round adds half of the mirrored element.
template <typename T>
__global__ void mix_tiles(const T* input, T* output, int rounds)
{
    __shared__ T tile[kSide][kSide];
    __shared__ T mirror[kSide][kSide];
    size_t base = (size_t)blockIdx.x * kSide * kSide;
    int x = threadIdx.x;

    for (int y = threadIdx.y; y < kSide; y += kRows) {
        tile[y][x] = input[base + y * kSide + x];
    }
    __syncthreads();

    for (int round = 0; round < rounds; ++round) {
        for (int y = threadIdx.y; y < kSide; y += kRows) {
            mirror[x][y] = tile[y][x];
        }
        __syncthreads();
        for (int y = threadIdx.y; y < kSide; y += kRows) {
            tile[y][x] = T(0.5) * (tile[y][x] + mirror[y][(x + 1) % kSide]);
        }
        __syncthreads();
    }

    for (int y = threadIdx.y; y < kSide; y += kRows) {
        output[base + y * kSide + x] = tile[y][x];
    }
}

template <typename T>
static void mix_on_host(T* tile, int rounds)
{
    std::vector<T> next(kSide * kSide);
    for (int round = 0; round < rounds; ++round) {
        for (int y = 0; y < kSide; ++y)
            for (int x = 0; x < kSide; ++x)
                next[y * kSide + x] =
                    T(0.5) * (tile[y * kSide + x] + tile[((x + 1) % kSide) * kSide + y]);
        std::copy(next.begin(), next.end(), tile);
    }
}

template <typename T>
static bool run(const char* type, int tiles, int rounds, uint64_t* checksum)
{
    size_t count = (size_t)tiles * kSide * kSide;
    std::vector<T> input(count), output(count);
    uint64_t state = 0x9E3779B97F4A7C15ull;
    for (T& v : input) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        v = (T)(state >> 40) / (T)16777216;
    }

    T *d_input, *d_output;
    CHECK(cudaMalloc(&d_input, count * sizeof(T)));
    CHECK(cudaMalloc(&d_output, count * sizeof(T)));
    CHECK(cudaMemcpy(d_input, input.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_output, 0xff, count * sizeof(T)));

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 3; ++i) {
        CHECK(cudaEventRecord(begin));
        mix_tiles<T><<<tiles, dim3(kSide, kRows)>>>(d_input, d_output, rounds);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    CHECK(cudaMemcpy(output.data(), d_output, count * sizeof(T), cudaMemcpyDeviceToHost));

    // The sum of two numbers and a halving round the same way everywhere: compare exactly.
    bool ok = true;
    int stride = tiles > 64 ? tiles / 64 : 1;
    for (int t = 0; t < tiles; t += stride) {
        T* tile = &input[(size_t)t * kSide * kSide];
        mix_on_host(tile, rounds);
        ok = ok && std::memcmp(tile, &output[(size_t)t * kSide * kSide], sizeof(T) * kSide * kSide) == 0;
    }
    const unsigned char* bytes = (const unsigned char*)output.data();
    for (size_t i = 0; i < count * sizeof(T); i += 4) {
        uint32_t word;
        std::memcpy(&word, bytes + i, 4);
        *checksum = (*checksum ^ word) * 0x100000001b3ull;
    }
    std::printf("time mix_tiles<%s>: %.3f us\n", type, times[times.size() / 2] * 1e3);
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(d_input));
    CHECK(cudaFree(d_output));
    return ok;
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    int tiles = 0, rounds = 0;
    if (argc == 3) {
        tiles = std::atoi(argv[1]);
        rounds = std::atoi(argv[2]);
    } else if (!std::strcmp(input, "small")) {
        tiles = 528;
        rounds = 8;
    } else if (!std::strcmp(input, "default")) {
        tiles = 8448;
        rounds = 24;
    } else if (!std::strcmp(input, "large")) {
        tiles = 33792;
        rounds = 32;
    }
    if (tiles < 1 || rounds < 1) {
        std::fprintf(stderr, "usage: shmem small|default|large | shmem TILES ROUNDS\n");
        return 2;
    }
    uint64_t checksum = 0xcbf29ce484222325ull;
    bool ok = run<float>("float", tiles, rounds, &checksum);
    ok = run<double>("double", tiles, rounds, &checksum) && ok;
    std::printf("tiles %d rounds %d\n", tiles, rounds);
    std::printf("checksum: %016llx\n", (unsigned long long)checksum);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    return ok ? 0 : 1;
}
