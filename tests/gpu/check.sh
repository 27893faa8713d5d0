#!/bin/sh
# On a GPU machine, before anything is measured: whether every tool that a proof needs works here. check.sh [FOLDER]
set -u; PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
place=${1:-$(mktemp -d)}; mkdir -p "$place"; cd "$place" || exit 1
cat > small.cu <<'C'
#include <cstdio>
__global__ void twice(int *x) { x[threadIdx.x] *= 2; }
int main() {
    int *x;
    if (cudaMalloc(&x, 128) != cudaSuccess || cudaMemset(x, 1, 128) != cudaSuccess) return 1;
    twice<<<1, 32>>>(x);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
C
failed=0
try() {
    name=$1; shift
    if "$@" > "$name.log" 2>&1; then echo "$name works"; else failed=1; echo "$name DOES NOT WORK: $(tail -n 3 "$name.log" | tr '\n' ' ')"; fi
}
try nvidia-smi nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader
cat nvidia-smi.log
try nvcc nvcc -arch=native -o small small.cu
try program ./small
for tool in memcheck racecheck initcheck synccheck; do try "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 ./small; done
try ncu ncu --clock-control none --section SpeedOfLight -f -o small ./small
exit $failed
