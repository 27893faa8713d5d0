"""What needs no Linux does without it: without the modules that Windows lacks everything loads, reads and serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITHOUT = "import sys\nfor name in ('fcntl', 'grp', 'pwd', 'resource', 'termios'): sys.modules[name] = None\n"


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + code, *words]
    environment = {**os.environ, "USER": "somebody"}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)


def test_every_module_can_be_imported() -> None:
    code = """
import importlib, pkgutil, optimas_lsp
for each in pkgutil.walk_packages(optimas_lsp.__path__, "optimas_lsp."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_a_report_is_read_and_analysed() -> None:
    command = "from optimas_lsp.cli import main; sys.exit(main())"
    report = ROOT / "samples" / "adjacent" / "profile.ncu-repz"
    done = python(command, "analyze", str(report), "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernels"]


def test_a_rewrite_is_refused_with_what_can_be_done_instead() -> None:
    code = """
import os
from optimas_lsp.cli import main
from optimas_lsp.prove import building

class Elsewhere:
    name = "nt"

    def __getattr__(self, name):
        return getattr(os, name)

building.os = Elsewhere()
sys.exit(main())
"""
    place = ROOT / "samples" / "adjacent"
    words = ["optimize", str(place / "adjacent.cu"), "--profile", str(place / "profile.ncu-repz"), "--accept"]
    done = python(code, *words)
    assert done.returncode == 2, done.stdout
    assert "on Linux only" in done.stderr
    assert "--no-build" in done.stderr
    assert "Traceback" not in done.stderr
