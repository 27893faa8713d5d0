// Macroscopic cross sections at random energies in random materials, as a Monte-Carlo neutron
// transport code asks for them: for every nuclide of the material, search the energy in the
// nuclide's own grid, interpolate five channels, and add them up weighted by concentration.
//
// usage: lookup small|default|large | lookup LOOKUPS NUCLIDES POINTS

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "grid.cuh"

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "lookup.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kMaterials = 12;

struct Materials {
    const int* first;             // kMaterials + 1 offsets into the two lists
    const int* nuclides;
    const double* concentrations;
};

__host__ __device__ static unsigned long long skip_ahead(unsigned long long seed, unsigned long long steps)
{
    unsigned long long a = 2862933555777941757ull, c = 3037000493ull;
    unsigned long long total_a = 1, total_c = 0;
    while (steps > 0) {
        if (steps & 1) {
            total_a *= a;
            total_c = total_c * a + c;
        }
        c *= a + 1;
        a *= a;
        steps >>= 1;
    }
    return seed * total_a + total_c;
}

__host__ __device__ static double uniform(unsigned long long* seed)
{
    *seed = *seed * 2862933555777941757ull + 3037000493ull;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

// Fuel, the first material, is hit most often.
__host__ __device__ static int pick_material(double roll)
{
    const double shares[kMaterials] = {0.30, 0.20, 0.12, 0.10, 0.08, 0.06,
                                       0.04, 0.03, 0.03, 0.02, 0.01, 0.01};
    double sum = 0.0;
    for (int m = 0; m < kMaterials; ++m) {
        sum += shares[m];
        if (roll < sum) return m;
    }
    return 0;
}

__host__ __device__ __noinline__ void micro_sections(const GridPoint* grid, int points, double energy, double* sections)
{
    int at = find_interval(grid, points, energy);
    GridPoint low = grid[at];
    GridPoint high = grid[at + 1];
    double f = (high.energy - energy) / (high.energy - low.energy);
    for (int k = 0; k < kChannels; ++k) {
        sections[k] = high.section[k] - f * (high.section[k] - low.section[k]);
    }
}

__global__ void lookup_kernel(const GridPoint* grids, int points, Materials materials, int lookups, double* results)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lookups) return;

    unsigned long long seed = skip_ahead(1070, 2ull * i);
    double energy = uniform(&seed);
    int material = pick_material(uniform(&seed));

    double macro[kChannels] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int j = materials.first[material]; j < materials.first[material + 1]; ++j) {
        double micro[kChannels];
        int nuclide = materials.nuclides[j];
        micro_sections(grids + (size_t)nuclide * points, points, energy, micro);
        for (int k = 0; k < kChannels; ++k) {
            macro[k] += micro[k] * materials.concentrations[j];
        }
    }
    for (int k = 0; k < kChannels; ++k) results[(size_t)i * kChannels + k] = macro[k];
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    int lookups = 0, nuclides = 0, points = 0;
    if (argc == 4) {
        lookups = std::atoi(argv[1]);
        nuclides = std::atoi(argv[2]);
        points = std::atoi(argv[3]);
    } else if (!std::strcmp(input, "small")) {
        lookups = 20000, nuclides = 24, points = 512;
    } else if (!std::strcmp(input, "default")) {
        lookups = 400000, nuclides = 68, points = 6000;
    } else if (!std::strcmp(input, "large")) {
        lookups = 1500000, nuclides = 160, points = 6000;
    }
    if (lookups < 1 || nuclides < kMaterials || points < 2) {
        std::fprintf(stderr, "usage: lookup small|default|large | lookup LOOKUPS NUCLIDES POINTS\n");
        return 2;
    }

    unsigned long long seed = 42;
    std::vector<GridPoint> grids((size_t)nuclides * points);
    std::vector<double> energies(points);
    for (int n = 0; n < nuclides; ++n) {
        for (double& e : energies) e = uniform(&seed);
        std::sort(energies.begin(), energies.end());
        energies.front() = 0.0;
        energies.back() = 1.0;
        for (int p = 0; p < points; ++p) {
            GridPoint& g = grids[(size_t)n * points + p];
            g.energy = energies[p];
            for (double& s : g.section) s = uniform(&seed);
        }
    }
    std::vector<int> first(kMaterials + 1, 0), members;
    std::vector<double> concentrations;
    for (int m = 0; m < kMaterials; ++m) {
        int size = m == 0 ? nuclides / 2 : 4 + m;
        if (size > nuclides) size = nuclides;
        for (int k = 0; k < size; ++k) {
            members.push_back((m * 7 + k) % nuclides);
            concentrations.push_back(uniform(&seed));
        }
        first[m + 1] = (int)members.size();
    }

    GridPoint* d_grids;
    int *d_first, *d_members;
    double *d_concentrations, *d_results;
    size_t result_bytes = (size_t)lookups * kChannels * sizeof(double);
    CHECK(cudaMalloc(&d_grids, grids.size() * sizeof(GridPoint)));
    CHECK(cudaMalloc(&d_first, first.size() * sizeof(int)));
    CHECK(cudaMalloc(&d_members, members.size() * sizeof(int)));
    CHECK(cudaMalloc(&d_concentrations, concentrations.size() * sizeof(double)));
    CHECK(cudaMalloc(&d_results, result_bytes));
    CHECK(cudaMemcpy(d_grids, grids.data(), grids.size() * sizeof(GridPoint), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_first, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_members, members.data(), members.size() * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_concentrations, concentrations.data(), concentrations.size() * sizeof(double),
                     cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_results, 0xff, result_bytes));

    Materials materials = {d_first, d_members, d_concentrations};
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 3; ++i) {
        CHECK(cudaEventRecord(begin));
        lookup_kernel<<<(lookups + 255) / 256, 256>>>(d_grids, points, materials, lookups, d_results);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    std::vector<double> results((size_t)lookups * kChannels);
    CHECK(cudaMemcpy(results.data(), d_results, result_bytes, cudaMemcpyDeviceToHost));

    bool ok = true;
    int stride = lookups > 5000 ? lookups / 5000 : 1;
    for (int i = 0; i < lookups; i += stride) {
        unsigned long long s = skip_ahead(1070, 2ull * i);
        double energy = uniform(&s);
        int material = pick_material(uniform(&s));
        double macro[kChannels] = {0.0, 0.0, 0.0, 0.0, 0.0};
        for (int j = first[material]; j < first[material + 1]; ++j) {
            double micro[kChannels];
            micro_sections(&grids[(size_t)members[j] * points], points, energy, micro);
            for (int k = 0; k < kChannels; ++k) macro[k] += micro[k] * concentrations[j];
        }
        for (int k = 0; k < kChannels; ++k)
            ok = ok && std::fabs(results[(size_t)i * kChannels + k] - macro[k]) <= 1e-10 * std::fabs(macro[k]);
    }
    uint64_t hash = 0xcbf29ce484222325ull;
    for (double r : results) {
        uint64_t bits;
        std::memcpy(&bits, &r, sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3ull;
    }
    std::printf("lookups %d nuclides %d points %d\n", lookups, nuclides, points);
    std::printf("time lookup_kernel: %.3f us\n", times[times.size() / 2] * 1e3);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(d_grids));
    CHECK(cudaFree(d_first));
    CHECK(cudaFree(d_members));
    CHECK(cudaFree(d_concentrations));
    CHECK(cudaFree(d_results));
    return ok ? 0 : 1;
}
