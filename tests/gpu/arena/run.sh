#!/bin/sh
# On a GPU machine: run.sh JOBS OUT.json [SECONDS] — the arena and the witness's own cost.
set -u
here=$(cd "$(dirname "$0")" && pwd); jobs=$1; out=$2
export OPTIMAS_WITNESS_CACHE=/tmp/optimas-witness
first=$(ls "$jobs" | grep '^coalesced$' || ls "$jobs" | head -1)
python3 - "$jobs/$first" <<'P'
import sys
sys.path.insert(0, sys.argv[1] + "/runner.pyz")
from pathlib import Path
from optimas_runner import tools, witness
print("witness:", witness.build(Path(sys.argv[1], "witness"), "/tmp/optimas-witness", tools.find("nvcc")))
P
lib=$(ls /tmp/optimas-witness/*/libwitness.so | head -1)
nvcc -O3 -arch=sm_90 -o /tmp/overhead "$here/overhead.cu"
for k in 1 2 3; do
  echo "plain  $(/tmp/overhead 512 300)"
  mkdir -p /tmp/w1 && echo "time   $(CUDA_INJECTION64_PATH=$lib OPTIMAS_WITNESS_DIR=/tmp/w1 OPTIMAS_WITNESS_MODE=time /tmp/overhead 512 300)"
done
mkdir -p /tmp/w2 && CUDA_INJECTION64_PATH=$lib OPTIMAS_WITNESS_DIR=/tmp/w2 OPTIMAS_WITNESS_MODE=launch,readback,poison /tmp/overhead 512 8
tail -n 4 /tmp/w2/*.jsonl | cut -c1-400; head -n 1 /tmp/w1/*.jsonl; tail -n 2 /tmp/w1/*.jsonl | cut -c1-300
python3 "$here/fight.py" "$jobs" "$out" 8 ${3:+"$3"}
