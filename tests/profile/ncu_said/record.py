"""Record what ncu says when it succeeds and when it fails; run on a machine with a GPU, nvcc and ncu.

    python record.py OUT.json

Each entry keeps ncu's arguments, its exit status and everything printed. Only the standard library is needed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
__global__ void good(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2.0f + 1.0f; }
__global__ void bad(float* x) { x[(1ull << 40) + threadIdx.x] = 1.0f; }
__global__ void slow(float* x) { for (int i = 0; i < 1 << 22; ++i) x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1.0f; }
int main(int argc, char** argv)
{
    const char* how = argc > 1 ? argv[1] : "good";
    if (!std::strcmp(how, "early")) { std::puts("cannot open input.dat"); return 3; }
    if (!std::strcmp(how, "abort")) std::abort();
    float* x = nullptr;
    if (cudaMalloc(&x, 4096) != cudaSuccess) { std::puts("no device"); return 7; }
    cudaMemset(x, 0, 4096);
    if (!std::strcmp(how, "none")) { std::puts("nothing to do"); return 0; }
    if (!std::strcmp(how, "bad")) bad<<<1, 32>>>(x);
    else if (!std::strcmp(how, "slow")) for (int i = 0; i < 6; ++i) slow<<<1, 32>>>(x);
    else for (int i = 0; i < 3; ++i) good<<<1, 32>>>(x);
    cudaError_t status = cudaDeviceSynchronize();
    std::printf("done: %s\n", cudaGetErrorString(status));
    if (!std::strcmp(how, "late")) return 4;
    return status != cudaSuccess;
}
"""


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def ncu(arguments: list[str], prefix: tuple[str, ...] = (), env: dict[str, str] | None = None) -> dict[str, object]:
    """Run ncu and keep what it said."""
    start = time.monotonic()
    done = subprocess.run(
        [*prefix, "ncu", "--clock-control", "none", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
        env={**os.environ, **(env or {})},
    )
    said = re.sub(r"process \d+", "process 1000", done.stdout)
    return {
        "arguments": arguments,
        "prefix": list(prefix),
        "env": env or {},
        "status": done.returncode,
        "seconds": round(time.monotonic() - start, 1),
        "output": said,
    }


def main() -> int:
    """Record every case into the file named on the command line."""
    cases: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory(prefix="cases-") as folder:
        Path(folder).chmod(0o777)
        os.chdir(folder)
        Path("program.cu").write_text(SOURCE)
        subprocess.run(["nvcc", "-O1", "-arch=sm_90", "-lineinfo", "-o", "program", "program.cu"], check=True)
        basic = ["--section", "SpeedOfLight", "--section", "LaunchStats"]
        program = "./program"
        Path("text.txt").write_text("no program")
        cases["success"] = ncu([*basic, "--launch-count", "2", "--export", "good.ncu-rep", program])
        cases["exists"] = ncu([*basic, "--export", "good.ncu-rep", program])
        cases["filter-matches-nothing"] = ncu([*basic, "--kernel-name", "regex:nope", "--export", "a", program])
        cases["launches-nothing"] = ncu([*basic, "--export", "b", program, "none"])
        cases["program-fails-early"] = ncu([*basic, "--export", "c", program, "early"])
        cases["program-fails-late"] = ncu([*basic, "--export", "d", program, "late"])
        cases["program-aborts"] = ncu([*basic, "--export", "e", program, "abort"])
        cases["kernel-faults"] = ncu([*basic, "--export", "f", program, "bad"])
        cases["no-such-program"] = ncu([*basic, "--export", "g", "./absent"])
        cases["not-executable"] = ncu([*basic, "--export", "h", "./text.txt"])
        cases["unknown-section"] = ncu(["--section", "NoSuchSection", "--export", "i", program])
        cases["unknown-option"] = ncu(["--no-such-option", "--export", "j", program])
        cases["no-device"] = ncu([*basic, "--export", "k", program], env={"CUDA_VISIBLE_DEVICES": ""})
        cases["cannot-write"] = ncu([*basic, "--export", "/proc/nowhere/l", program])
        cases["other-user"] = ncu(
            [*basic, "--export", f"{folder}/m", program],
            prefix=NOBODY,
            env={"HOME": folder, "TMPDIR": folder},
        )
        first = subprocess.Popen(
            ["ncu", "--clock-control", "none", "--set", "full", "--export", "first", program, "slow"],
            stdout=subprocess.DEVNULL,
        )
        time.sleep(4)
        cases["second-profiler"] = ncu([*basic, "--export", "n", program])
        cases["second-profiler"]["first_still_ran"] = first.poll() is None
        first.wait(120)
        cases["second-profiler-other-folder"] = ncu([*basic, "--export", "o", program], env={"TMPDIR": folder})
    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    text = json.dumps({"ncu": version, "gpu": driver, "cases": cases}, indent=1)
    Path(sys.argv[1]).write_text(text.replace(folder, "/folder") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
