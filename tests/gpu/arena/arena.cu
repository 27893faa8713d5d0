// A small program to try the proof on: smooth an image several times, then count its values into bins.
// Usage: arena ROWS COLS SEED. Its self-check is weak on purpose: it looks at a few values only.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t error_ = (call);                                                      \
        if (error_ != cudaSuccess) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

constexpr int BINS = 64;
constexpr int STEPS = 4;

__global__ void smooth(const float *in, float *out, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    int r = i % rows;
    int c = i / rows;
    int up = r > 0 ? r - 1 : 0;
    int down = r + 1 < rows ? r + 1 : rows - 1;
    int left = c > 0 ? c - 1 : 0;
    int right = c + 1 < cols ? c + 1 : cols - 1;
    float sum = in[up * cols + c] + in[down * cols + c];
    sum = sum + in[r * cols + left];
    sum = sum + in[r * cols + right];
    out[r * cols + c] = 0.5f * in[r * cols + c] + 0.125f * sum;
}

__global__ void count_bins(const float *data, unsigned *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = (int)(data[i] * BINS);
    if (bin < 0) bin = 0;
    if (bin > BINS - 1) bin = BINS - 1;
    atomicAdd(&bins[bin], 1u);
}

int main(int argc, char **argv) {
    int rows = argc > 1 ? atoi(argv[1]) : 2048;
    int cols = argc > 2 ? atoi(argv[2]) : 2048;
    unsigned state = argc > 3 ? (unsigned)atoi(argv[3]) : 1u;
    int n = rows * cols;
    std::vector<float> image(n), result(n);
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        image[i] = (float)(state >> 8) / 16777216.0f;
    }
    std::vector<unsigned> counts(BINS, 0u);
    float *a, *b;
    unsigned *bins;
    CHECK(cudaMalloc(&a, n * sizeof(float)));
    CHECK(cudaMalloc(&b, n * sizeof(float)));
    CHECK(cudaMalloc(&bins, BINS * sizeof(unsigned)));
    CHECK(cudaMemcpy(a, image.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(bins, counts.data(), BINS * sizeof(unsigned), cudaMemcpyHostToDevice));
    int block = 256, grid = (n + block - 1) / block;
    for (int step = 0; step < STEPS; ++step) {
        smooth<<<grid, block>>>(a, b, rows, cols);
        CHECK(cudaGetLastError());
        smooth<<<grid, block>>>(b, a, rows, cols);
        CHECK(cudaGetLastError());
    }
    count_bins<<<grid, block>>>(a, bins, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(counts.data(), bins, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < n; i += 97) sum += result[i];
    unsigned total = 0;
    for (unsigned count : counts) total += count;
    bool good = total == (unsigned)n && sum > 0;
    printf("checksum: %.3f\n", sum);
    printf("self-check: %s\n", good ? "passed" : "failed");
    return good ? 0 : 1;
}
