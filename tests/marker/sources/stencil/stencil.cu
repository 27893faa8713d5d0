// Elastic waves on a regular grid, fourth order in space, second order in time, with three
// displacement components and a stiffness that differs from point to point:
//     rho u_tt = (lambda + mu) grad(div u) + mu laplace(u)
// A sponge near the boundary damps what leaves the domain.
//
// usage: stencil small|default|large | stencil SIDE STEPS

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "derivatives.cuh"

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "stencil.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kGhost = 2;
constexpr int kSponge = 8;

struct Grid {
    int side;
    double h;
    double dt;
};

struct Material {
    const double* mu;
    const double* lambda;
    const double* rho;
};

__host__ __device__ inline double acceleration(const double* u, Material material, Grid grid, long long point, int component)
{
    long long strides[3] = {kComponents, (long long)kComponents * grid.side,
                            (long long)kComponents * grid.side * grid.side};
    long long at = point * kComponents;
    double mu = material.mu[point];
    double lambda = material.lambda[point];
    double laplace = 0.0, grad_div = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        laplace += second_derivative(u, at + component, strides[axis], grid.h);
        if (axis == component) {
            grad_div += second_derivative(u, at + axis, strides[axis], grid.h);
        } else {
            grad_div += mixed_derivative(u, at + axis, strides[axis], strides[component], grid.h);
        }
    }
    return ((lambda + mu) * grad_div + mu * laplace) / material.rho[point];
    //@ diag("long_scoreboard", "7%") hint("10.0 % long_scoreboard")
}

namespace interior {

// One thread advances one grid point.
__global__ void update(const double* previous, const double* now, double* next, Material material, Grid grid)
//@ diag("low-occupancy", "25%") lens("97 % of GPU time")
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < kGhost || y < kGhost || z < kGhost) return;
    if (x >= grid.side - kGhost || y >= grid.side - kGhost || z >= grid.side - kGhost) return;
    long long point = ((long long)z * grid.side + y) * grid.side + x;
    for (int c = 0; c < kComponents; ++c) {
        long long at = point * kComponents + c;
        next[at] = 2.0 * now[at] - previous[at] + grid.dt * grid.dt * acceleration(now, material, grid, point, c);
    }
}

}  // namespace interior

namespace boundary {

// Damps the points closer than kSponge to a face of the domain.
__global__ void update(double* next, Grid grid)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= grid.side || y >= grid.side || z >= grid.side) return;
    int depth = min(min(min(x, grid.side - 1 - x), min(y, grid.side - 1 - y)), min(z, grid.side - 1 - z));
    if (depth >= kSponge) return;
    double distance = (double)(kSponge - depth) / kSponge;
    double damping = exp(-0.05 * pow(distance, 2.0));
    long long point = ((long long)z * grid.side + y) * grid.side + x;
    for (int c = 0; c < kComponents; ++c) next[point * kComponents + c] *= damping;
}

}  // namespace boundary

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    int side = 0, steps = 0;
    if (argc == 3) {
        side = std::atoi(argv[1]);
        steps = std::atoi(argv[2]);
    } else if (!std::strcmp(input, "small")) {
        side = 40, steps = 4;
    } else if (!std::strcmp(input, "default")) {
        side = 160, steps = 4;
    } else if (!std::strcmp(input, "large")) {
        side = 256, steps = 6;
    }
    if (side < 2 * kSponge || steps < 1) {
        std::fprintf(stderr, "usage: stencil small|default|large | stencil SIDE STEPS\n");
        return 2;
    }

    size_t points = (size_t)side * side * side;
    size_t values = points * kComponents;
    std::vector<double> start(values), mu(points), lambda(points), rho(points);
    uint64_t state = 77;
    auto uniform = [&state]() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (double)(state >> 11) / 9007199254740992.0;
    };
    for (double& v : start) v = uniform() - 0.5;
    for (size_t p = 0; p < points; ++p) {
        mu[p] = 0.5 + uniform();
        lambda[p] = 0.5 + uniform();
        rho[p] = 1.0 + uniform();
    }
    Grid grid = {side, 1.0 / (side - 1), 0.2 / (side - 1)};

    double *d_mu, *d_lambda, *d_rho, *u[3];
    CHECK(cudaMalloc(&d_mu, points * sizeof(double)));
    CHECK(cudaMalloc(&d_lambda, points * sizeof(double)));
    CHECK(cudaMalloc(&d_rho, points * sizeof(double)));
    CHECK(cudaMemcpy(d_mu, mu.data(), points * sizeof(double), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_lambda, lambda.data(), points * sizeof(double), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_rho, rho.data(), points * sizeof(double), cudaMemcpyHostToDevice));
    for (double*& field : u) {
        CHECK(cudaMalloc(&field, values * sizeof(double)));
        CHECK(cudaMemcpy(field, start.data(), values * sizeof(double), cudaMemcpyHostToDevice));
    }
    Material material = {d_mu, d_lambda, d_rho};
    Material host_material = {mu.data(), lambda.data(), rho.data()};

    dim3 threads(8, 8, 4);
    dim3 blocks((side + threads.x - 1) / threads.x, (side + threads.y - 1) / threads.y,
                (side + threads.z - 1) / threads.z);
    cudaEvent_t marks[3];
    for (cudaEvent_t& m : marks) CHECK(cudaEventCreate(&m));
    std::vector<float> interior_times, boundary_times;
    std::vector<double> result(values);
    bool ok = true;
    for (int step = 0; step < steps; ++step) {
        CHECK(cudaEventRecord(marks[0]));
        interior::update<<<blocks, threads>>>(u[0], u[1], u[2], material, grid);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[1]));
        boundary::update<<<blocks, threads>>>(u[2], grid);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(marks[2]));
        CHECK(cudaEventSynchronize(marks[2]));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, marks[0], marks[1]));
        interior_times.push_back(ms);
        CHECK(cudaEventElapsedTime(&ms, marks[1], marks[2]));
        boundary_times.push_back(ms);
        double* oldest = u[0];
        u[0] = u[1];
        u[1] = u[2];
        u[2] = oldest;

        if (step > 0) continue;
        // The first step is compared with the host at some thousand points.
        CHECK(cudaMemcpy(result.data(), u[1], values * sizeof(double), cudaMemcpyDeviceToHost));
        for (size_t p = 0; p < points; p += points / 4001 + 1) {
            int x = (int)(p % side), y = (int)(p / side % side), z = (int)(p / side / side);
            int depth = std::min(std::min(std::min(x, side - 1 - x), std::min(y, side - 1 - y)),
                                 std::min(z, side - 1 - z));
            double factor = 1.0;
            if (depth < kSponge) factor = std::exp(-0.05 * std::pow((double)(kSponge - depth) / kSponge, 2.0));
            for (int c = 0; c < kComponents; ++c) {
                double expected = start[p * kComponents + c];
                if (depth >= kGhost)
                    expected += grid.dt * grid.dt * acceleration(start.data(), host_material, grid, (long long)p, c);
                ok = ok && std::fabs(result[p * kComponents + c] - factor * expected) < 1e-11;
            }
        }
    }
    CHECK(cudaMemcpy(result.data(), u[1], values * sizeof(double), cudaMemcpyDeviceToHost));
    uint64_t hash = 0xcbf29ce484222325ull;
    for (double v : result) {
        ok = ok && std::isfinite(v);
        uint64_t bits;
        std::memcpy(&bits, &v, sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3ull;
    }
    std::sort(interior_times.begin(), interior_times.end());
    std::sort(boundary_times.begin(), boundary_times.end());
    std::printf("side %d steps %d\n", side, steps);
    std::printf("time interior::update: %.3f us\n", interior_times[steps / 2] * 1e3);
    std::printf("time boundary::update: %.3f us\n", boundary_times[steps / 2] * 1e3);
    std::printf("checksum: %016llx\n", (unsigned long long)hash);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    CHECK(cudaFree(d_mu));
    CHECK(cudaFree(d_lambda));
    CHECK(cudaFree(d_rho));
    for (double* field : u) CHECK(cudaFree(field));
    return ok ? 0 : 1;
}
