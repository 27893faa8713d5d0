// Top-k accuracy of a classifier: in how many rows of a score table does the right class
// belong to the k best scores of its row?
//
// usage: accuracy small|default|large|sweep | accuracy ROWS CLASSES

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rank.cuh"

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t status, const char* call, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "accuracy.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
    std::exit(2);
}

constexpr int kTopK = 5;
constexpr int kThreads = 128;

// One block looks at one row: its threads count the classes that stand before the right one.
__global__ void accuracy_kernel(const float* scores, const int* labels, int classes, int top_k,
//@ lens("100 % of GPU time") lens("1 launch")
                                int* ranks, int* correct)
{
    __shared__ int better;
    int row = blockIdx.x;
    int label = labels[row];
    float right = scores[(size_t)row * classes + label];  // the score to beat
    //@ gone()

    if (threadIdx.x == 0) better = 0;
    __syncthreads();

    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        float score = scores[(size_t)row * classes + c];
        //@ diag("long_scoreboard", "84%") hint("3.3 % wait")
        if (outranks(score, c, right, label)) {
            atomicAdd(&better, 1);
        }
    }
    __syncthreads();

    if (threadIdx.x == 0) {
    //@ diag("barrier", "4%") hover("at a barrier")
        ranks[row] = better;
        if (better < top_k) atomicAdd(correct, 1);
    }
}

static uint64_t state = 0x243F6A8885A308D3ull;

static uint32_t next_random()
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33);
}

static uint64_t hash_words(const int* words, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < count; ++i) hash = (hash ^ (uint32_t)words[i]) * 0x100000001b3ull;
    return hash;
}

static bool run(int rows, int classes, int repeats, uint64_t* checksum)
{
    std::vector<float> scores((size_t)rows * classes);
    std::vector<int> labels(rows);
    for (float& s : scores) s = (float)(next_random() >> 8) / 8388608.0f;
    // A trained classifier: the right class scores high in most rows.
    for (int r = 0; r < rows; ++r) {
        labels[r] = (int)(next_random() % classes);
        float& right = scores[(size_t)r * classes + labels[r]];
        right = 1.0f - (1.0f - right) * 16.0f / (float)classes;
    }

    float* d_scores;
    int *d_labels, *d_ranks, *d_correct;
    CHECK(cudaMalloc(&d_scores, scores.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_labels, rows * sizeof(int)));
    CHECK(cudaMalloc(&d_ranks, rows * sizeof(int)));
    CHECK(cudaMalloc(&d_correct, sizeof(int)));
    CHECK(cudaMemcpy(d_scores, scores.data(), scores.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_labels, labels.data(), rows * sizeof(int), cudaMemcpyHostToDevice));

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < repeats; ++i) {
        CHECK(cudaMemset(d_correct, 0, sizeof(int)));
        CHECK(cudaMemset(d_ranks, 0xff, rows * sizeof(int)));
        CHECK(cudaEventRecord(begin));
        accuracy_kernel<<<rows, kThreads>>>(d_scores, d_labels, classes, kTopK, d_ranks, d_correct);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());

    std::vector<int> ranks(rows);
    int correct = 0;
    CHECK(cudaMemcpy(ranks.data(), d_ranks, rows * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&correct, d_correct, sizeof(int), cudaMemcpyDeviceToHost));

    int expected_correct = 0;
    bool ok = true;
    for (int r = 0; r < rows; ++r) {
        const float* row = &scores[(size_t)r * classes];
        int rank = 0;
        for (int c = 0; c < classes; ++c) rank += outranks(row[c], c, row[labels[r]], labels[r]);
        ok = ok && rank == ranks[r];
        expected_correct += rank < kTopK;
    }
    ok = ok && correct == expected_correct;

    std::printf("rows %d classes %d correct %d\n", rows, classes, correct);
    std::printf("time accuracy_kernel: %.3f us\n", times[times.size() / 2] * 1e3);
    *checksum = *checksum * 31 + hash_words(ranks.data(), rows) + (uint64_t)correct;

    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(d_scores));
    CHECK(cudaFree(d_labels));
    CHECK(cudaFree(d_ranks));
    CHECK(cudaFree(d_correct));
    return ok;
}

int main(int argc, char** argv)
{
    const char* input = argc > 1 ? argv[1] : "default";
    uint64_t checksum = 0;
    bool ok = true;
    if (argc == 3) {
        int rows = std::atoi(argv[1]), classes = std::atoi(argv[2]);
        if (rows < 1 || classes < 1) {
            std::fprintf(stderr, "accuracy: ROWS and CLASSES are positive numbers\n");
            return 2;
        }
        ok = run(rows, classes, 5, &checksum);
    } else if (!std::strcmp(input, "small")) {
        ok = run(512, 1000, 5, &checksum);
    } else if (!std::strcmp(input, "default")) {
        ok = run(8192, 10000, 5, &checksum);
    } else if (!std::strcmp(input, "large")) {
        ok = run(16384, 16000, 3, &checksum);
    } else if (!std::strcmp(input, "sweep")) {
        const int rows[] = {256, 1024, 4096, 8192};
        const int classes[] = {100, 500, 1000, 2500, 5000, 10000};
        for (int r : rows)
            for (int c : classes) ok = run(r, c, 1, &checksum) && ok;
    } else {
        std::fprintf(stderr, "usage: accuracy small|default|large|sweep | accuracy ROWS CLASSES\n");
        return 2;
    }
    std::printf("checksum: %016llx\n", (unsigned long long)checksum);
    std::printf("self-check: %s\n", ok ? "passed" : "failed");
    return ok ? 0 : 1;
}
