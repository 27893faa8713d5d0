"""The accuracy program in a folder of its own, and answers about it: good, refused, broken."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from prompt_samples import SAMPLES

ACCURACY = SAMPLES["accuracy"]

CHECKER = """\
import pathlib, sys
text = pathlib.Path("accuracy.cu").read_text()
for number, line in enumerate(text.split("\\n"), 1):
    if "undeclared" in line:
        sys.exit(f"accuracy.cu({number}): error: identifier \\"undeclared\\" is undefined")
if "unlinked" in text:
    sys.stderr.write("/usr/bin/ld: accuracy.o: in function `main':\\nundefined reference to `unlinked'\\n")
    sys.exit("collect2: error: ld returned 1")
pathlib.Path("built").write_text("yes")
"""
"""Stands for a compiler: a program that reads the candidate and fails as compilers and linkers do."""

OLD = "        float score = scores[(size_t)row * classes + c];\n"


def program(folder: Path, build: list[list[str]] | None = None, settings: str = "") -> Path:
    """The source in a new folder; its build is ``build``, without it the checker."""
    home = folder / "program"
    home.mkdir()
    for name in ("accuracy.cu", "rank.cuh"):
        (home / name).write_bytes((ACCURACY.folder / name).read_bytes())
    (home / "check.py").write_text(CHECKER, "utf-8")
    commands = json.dumps(build or [[sys.executable, "check.py"]])
    (home / "optimas.toml").write_text(
        f'{settings}\n[target]\nbuild = {commands}\n\n[target.inputs]\ndefault = ["true"]\n', "utf-8"
    )
    return home / "accuracy.cu"


def kernel_text() -> str:
    """The kernel's definition as it is."""
    lines = ACCURACY.source.read_text("utf-8").split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("__global__ void accuracy_kernel"))
    last = next(at for at in range(first, len(lines)) if lines[at] == "}")
    return "\n".join(lines[first : last + 1])


def answer(new_line: str = "", *, evidence: str = "BL-1", **more: Any) -> str:
    """A proposal as a model would word it: the hot load is replaced by ``new_line``."""
    text = kernel_text().replace(
        OLD, new_line or "        const float score = __ldg(&scores[(size_t)row * classes + c]);\n"
    )
    return json.dumps(
        {
            "functions": [{"function": "accuracy_kernel", "text": text}],
            "changes": [
                {
                    "function": "accuracy_kernel",
                    "original_lines": [40, 40],
                    "evidence": [evidence],
                    "transformation": "read-only load",
                    "reason": "the line loads what nobody writes",
                    "expects": [{"metric": "long_scoreboard", "direction": "down"}],
                }
            ],
            "not_applied": [],
            "bit_exact": True,
            **more,
        }
    )


GOOD = answer()
REFUSED = answer('        printf("%d", c); float score = scores[(size_t)row * classes + c];\n')
INVENTED = answer(evidence="PC-99")
UNDECLARED = answer(
    "        float score = scores[(size_t)row * classes + c];  int undeclared = c; score += undeclared - c;\n"
)
UNLINKED = answer(
    "        float score = scores[(size_t)row * classes + c];  int unlinked = c; score += unlinked - c;\n"
)
NOTHING = json.dumps(
    {
        "functions": [],
        "changes": [],
        "not_applied": [{"transformation": "tiling", "reason": "no reuse", "evidence": []}],
        "bit_exact": True,
    }
)
