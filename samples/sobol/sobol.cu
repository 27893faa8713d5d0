// Sobol' quasi-random numbers: `points` points of a cube with `dimensions` dimensions.
//
// usage: sobol small|default|large | sobol POINTS DIMENSIONS

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
    std::fprintf(stderr, "sobol.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kBits = 32;

// One thread makes one coordinate of one point: the exclusive or of the direction numbers
// that the Gray code of the point's number selects.
__global__ void sobol_kernel(const unsigned int* directions, int points, int dimensions, float* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points * dimensions) return;
    int point = i % points;
    int dimension = i / points;

    unsigned int gray = point ^ (point >> 1);
    unsigned int x = 0;
    for (int bit = 0; bit < kBits; ++bit) {
        if (gray & (1u << bit)) {
            x ^= directions[dimension * kBits + bit];
        }
    }
    output[point * dimensions + dimension] = x * 2.3283064365386963e-10;
}

static uint32_t random_bits(uint64_t* state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

static int degree_of(uint32_t polynomial)
{
    int degree = 0;
    while (polynomial >> (degree + 1)) ++degree;
    return degree;
}

// x generates all 2^degree - 1 non-zero residues exactly when the polynomial is primitive.
static bool is_primitive(uint32_t polynomial)
{
    int degree = degree_of(polynomial);
    uint32_t value = 1, order = 0;
    do {
        value <<= 1;
        if (value >> degree) value ^= polynomial;
        ++order;
    } while (value != 1 && value != 0 && order < (1u << degree));
    return value == 1 && order == (1u << degree) - 1;
}

// The first dimension is van der Corput's sequence; every other one takes the next primitive
// polynomial over GF(2) and odd starting numbers m_j < 2^j.
static std::vector<uint32_t> make_directions(int dimensions)
{
    std::vector<uint32_t> v((size_t)dimensions * kBits);
    for (int b = 0; b < kBits; ++b) v[b] = 1u << (kBits - 1 - b);
    uint64_t state = 20240229;
    uint32_t polynomial = 3;
    for (int d = 1; d < dimensions; ++d) {
        while (!is_primitive(polynomial)) polynomial += 2;
        int s = degree_of(polynomial);
        uint32_t* w = &v[(size_t)d * kBits];
        for (int b = 0; b < kBits; ++b) {
            if (b < s) {
                uint32_t m = (random_bits(&state) & ((1u << (b + 1)) - 1)) | 1u;
                w[b] = m << (kBits - 1 - b);
            } else {
                w[b] = w[b - s] ^ (w[b - s] >> s);
                for (int k = 1; k < s; ++k)
                    if ((polynomial >> (s - k)) & 1u) w[b] ^= w[b - k];
            }
        }
        polynomial += 2;
    }
    return v;
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    int points = 0, dimensions = 0;
    if (argc == 3) {
        points = std::atoi(argv[1]);
        dimensions = std::atoi(argv[2]);
    } else if (!std::strcmp(input, "small")) {
        points = 1 << 14;
        dimensions = 16;
    } else if (!std::strcmp(input, "default")) {
        points = 1 << 20;
        dimensions = 32;
    } else if (!std::strcmp(input, "large")) {
        points = 1 << 21;
        dimensions = 64;
    }
    if (points < 1 || dimensions < 1 || (long long)points * dimensions > (1 << 30)) {
        std::fprintf(stderr, "usage: sobol small|default|large | sobol POINTS DIMENSIONS\n");
        return 2;
    }

    size_t count = (size_t)points * dimensions;
    std::vector<uint32_t> directions = make_directions(dimensions);
    uint32_t* d_directions;
    float* d_output;
    CHECK(cudaMalloc(&d_directions, directions.size() * sizeof(uint32_t)));
    CHECK(cudaMalloc(&d_output, count * sizeof(float)));
    CHECK(cudaMemcpy(d_directions, directions.data(), directions.size() * sizeof(uint32_t),
                     cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_output, 0xff, count * sizeof(float)));

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 5; ++i) {
        CHECK(cudaEventRecord(begin));
        sobol_kernel<<<(unsigned)((count + 63) / 64), 64>>>(d_directions, points, dimensions, d_output);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());

    std::vector<float> output(count);
    CHECK(cudaMemcpy(output.data(), d_output, count * sizeof(float), cudaMemcpyDeviceToHost));

    // Antonov and Saleev: each point differs from the one before it by one direction number.
    bool ok = true;
    uint64_t hash = 0xcbf29ce484222325ull;
    std::vector<uint32_t> x(dimensions, 0);
    for (int p = 0; p < points; ++p) {
        for (int d = 0; d < dimensions; ++d) {
            float got = output[(size_t)p * dimensions + d];
            ok = ok && got == (float)(x[d] * 2.3283064365386963e-10);
            uint32_t word;
            std::memcpy(&word, &got, sizeof word);
            hash = (hash ^ word) * 0x100000001b3ull;
        }
        int bit = 0;
        while (((p + 1) >> bit) % 2 == 0) ++bit;
        for (int d = 0; d < dimensions; ++d) x[d] ^= directions[(size_t)d * kBits + bit];
    }

    std::printf("points %d dimensions %d\n", points, dimensions);
    std::printf("time sobol_kernel: %.3f us\n", times[times.size() / 2] * 1e3);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(d_directions));
    CHECK(cudaFree(d_output));
    return ok ? 0 : 1;
}
