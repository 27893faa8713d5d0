"""Build a CUDA program for the processor and run it: what a rewrite computes, without a GPU."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SHIM = Path(__file__).with_name("emulated_cuda.h")
_LAUNCH = re.compile(r"([\w:]+(?:\[k\])?(?:<[\w, ]+>)?)<<<(.+?)>>>\((.*?)\);", re.DOTALL)


def emulated(source: str) -> str:
    """The source with launches as calls of the emulation."""

    def launch(match: re.Match[str]) -> str:
        grid, block = _halves(match.group(2))
        return f"emulated::launch({grid}, {block}, [&] {{ {match.group(1)}({match.group(3)}); }});"

    return f'#include "{SHIM.name}"\n' + _LAUNCH.sub(launch, source)


def _halves(configuration: str) -> tuple[str, str]:
    """Grid and block of a launch: the two sides of its outermost comma."""
    depth = 0
    for at, char in enumerate(configuration):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            return configuration[:at], configuration[at + 1 :]
    raise ValueError(configuration)


def run(files: Mapping[str, str], main: str, arguments: Sequence[str], folder: Path) -> str:
    """What the program made of ``files`` prints for ``arguments``, lines with times left out."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SHIM, folder)
    for name, text in files.items():
        (folder / name).write_text(emulated(text) if name == main else text, "utf-8")
    program = folder / "program"
    command = ["g++", "-x", "c++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-o", str(program), main]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert built.returncode == 0, built.stderr[:3000]
    done = subprocess.run(
        [str(program), *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return "\n".join(line for line in done.stdout.split("\n") if not line.startswith("time"))
