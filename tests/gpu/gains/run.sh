#!/bin/sh
# On a GPU machine: run.sh JOBS OUT.json [AT_ONCE [SECONDS]] — prove every packed candidate; the witness is built once, before.
set -u
here=$(cd "$(dirname "$0")" && pwd); jobs=$1; out=$2
export OPTIMAS_WITNESS_CACHE=/tmp/optimas-witness
first=$(ls "$jobs" | grep -v json | head -1)
python3 - "$jobs/$first" <<'P'
import sys
sys.path.insert(0, sys.argv[1] + "/runner.pyz")
from pathlib import Path
from optimas_runner import tools, witness
print("witness:", witness.build(Path(sys.argv[1], "witness"), "/tmp/optimas-witness", tools.find("nvcc")))
P
python3 "$here/../arena/fight.py" "$jobs" "$out" "${3:-6}" ${4:+"$4"}
