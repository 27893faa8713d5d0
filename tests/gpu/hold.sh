#!/bin/sh
# On a GPU machine: hold.sh — keep the driver initialised until it is killed, so that no program waits for that again.
# What it holds is a CUDA context that does nothing; settings of the GPU stay as they are.
set -u; PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
place=$(mktemp -d); cd "$place" || exit 1
cat > hold.cu <<'C'
#include <unistd.h>
int main() { return cudaFree(0) != cudaSuccess ? 1 : pause(); }
C
nvcc -o hold hold.cu && exec ./hold
