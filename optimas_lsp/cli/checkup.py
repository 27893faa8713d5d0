"""What ``optimas doctor`` looks at: each check says what it found and, where something is amiss, the remedy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from optimas_lsp import __version__
from optimas_lsp.profile.model import Frozen

Status = Literal["ok", "absent", "failed"]
"""ok: works; absent: an optional part is not there; failed: something that reading and serving need is amiss."""


class Check(Frozen):
    """One thing looked at. ``remedy`` is empty where nothing needs doing."""

    id: str = Field(description="stable, e.g. 'ncu', 'package:pygls', 'key:OPENAI_API_KEY'")
    status: Status
    found: str
    remedy: str = ""


class Mapped(Frozen):
    """One file of a report and the rule that led to a file here, or why none did."""

    file: str
    path: str | None
    rule: str
    why: str


class Checkup(Frozen):
    """``optimas.doctor/1``: everything looked at. ``mapping`` is filled when a report and folders were given."""

    schema_: Literal["optimas.doctor/1"] = Field(default="optimas.doctor/1", alias="schema")
    version: str = __version__
    checks: tuple[Check, ...]
    mapping: tuple[Mapped, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


NEEDED_PYTHON = (3, 11)

NEEDED = (
    "lsprotocol",
    "numpy",
    "platformdirs",
    "pydantic",
    "pyelftools",
    "pygls",
    "rich",
    "tree-sitter",
    "tree-sitter-cuda",
    "tree-sitter-python",
    "typer",
    "zstandard",
)
"""Distributions without which reading distilled profiles or serving an editor does not work."""

HELPFUL = {
    "ncu-report": "reads .ncu-rep files; without it only distilled profiles (*.optimas.json) open",
    "nvidia-cuda-nvdisasm": "prints machine code that a report leaves out; rarely needed",
}
"""Distributions that exist for some platforms only, and what is lost without them."""

TOOLKIT = ("cuda-toolkit", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12")
"""Distributions that bring a CUDA compiler from PyPI, any of them."""

KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
"""Environment variables with keys of model services; only whether they are set is ever looked at."""

DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
_TIMEOUT_SECONDS = 15


def check_all(environment: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Every check of this machine, in the order a person reads them."""
    environment = os.environ if environment is None else environment
    yield python()
    yield from packages()
    yield nvcc(environment)
    yield toolkit()
    yield ncu()
    yield gpu()
    yield counters()
    yield from keys(environment)
    yield cache()
    yield corpus()


def python() -> Check:
    """The interpreter and whether it is new enough."""
    found = f"Python {platform.python_version()} ({platform.system()} {platform.machine()})"
    if sys.version_info[:2] >= NEEDED_PYTHON:
        return Check(id="python", status="ok", found=found)
    return Check(id="python", status="failed", found=found, remedy="install Python 3.11 or newer")


def packages() -> Iterator[Check]:
    """The distributions that reading and serving use."""
    for name in NEEDED:
        version = installed(name)
        if version is None:
            yield Check(id=f"package:{name}", status="failed", found="not installed", remedy=f"pip install {name}")
        elif name == "pygls" and not version.startswith("2.1."):
            remedy = "pip install 'pygls==2.1.*': the server is made and tested for that version"
            yield Check(id=f"package:{name}", status="failed", found=version, remedy=remedy)
        else:
            yield Check(id=f"package:{name}", status="ok", found=version)
    for name, purpose in HELPFUL.items():
        version = installed(name)
        if version is None:
            remedy = f"pip install {name} ({purpose})"
            yield Check(id=f"package:{name}", status="absent", found="not installed", remedy=remedy)
        else:
            yield Check(id=f"package:{name}", status="ok", found=version)


def nvcc(environment: Mapping[str, str]) -> Check:
    """The CUDA compiler on PATH, under CUDA_HOME or in the usual place."""
    from optimas_lsp.rewrite.compile import find_compiler

    compiler = find_compiler(environment)
    if compiler is None:
        remedy = "install the CUDA toolkit, or: pip install 'optimas-lsp[proof]' (only building programs needs it)"
        return Check(id="nvcc", status="absent", found="not found", remedy=remedy)
    path = str(compiler[0])
    version = _search(r"release [\d.]+, V([\d.]+)", run(path, "--version"))
    return Check(id="nvcc", status="ok", found=f"{version or 'unknown version'} ({path})")


def toolkit() -> Check:
    """A CUDA toolkit from PyPI."""
    found = [f"{name} {version}" for name in TOOLKIT if (version := installed(name)) is not None]
    if found:
        return Check(id="toolkit", status="ok", found=", ".join(found))
    remedy = "pip install 'optimas-lsp[proof]' brings one (only building programs needs it)"
    return Check(id="toolkit", status="absent", found="no CUDA toolkit from PyPI", remedy=remedy)


def ncu() -> Check:
    """Nsight Compute's command line, and whether the reader is as new as the reports it writes."""
    from optimas_lsp.profile.collect import find_ncu
    from optimas_lsp.profile.ncu import CollectError

    try:
        path = find_ncu()
    except CollectError:
        remedy = "install Nsight Compute (only making reports needs it; it may be on another machine)"
        return Check(id="ncu", status="absent", found="not found", remedy=remedy)
    version = _search(r"Version ([\d.]+)", run(path, "--version"))
    found = f"{version or 'unknown version'} ({path})"
    reader = installed("ncu-report")
    if version and reader and _numbers(reader) < _numbers(version):
        remedy = f"pip install --upgrade ncu-report: {reader} cannot read what ncu {version} writes"
        return Check(id="ncu", status="failed", found=found, remedy=remedy)
    return Check(id="ncu", status="ok", found=found)


def gpu() -> Check:
    """The GPUs of this machine."""
    path = shutil.which("nvidia-smi")
    answer = run(path, "--query-gpu=name,driver_version", "--format=csv,noheader") if path else ""
    names = [line.strip() for line in answer.splitlines() if "," in line]
    if names:
        return Check(id="gpu", status="ok", found="; ".join(names))
    remedy = "none needed to read reports; make reports on a machine that has one"
    found = "nvidia-smi finds no GPU" if path else "no NVIDIA driver (nvidia-smi not found)"
    return Check(id="gpu", status="absent", found=found, remedy=remedy)


def counters(parameters: Path = DRIVER_PARAMETERS) -> Check:
    """Whether this user may read the GPU's performance counters."""
    try:
        text = parameters.read_text("utf-8", errors="replace")
    except OSError:
        return Check(
            id="counters",
            status="absent",
            found="unknown: no NVIDIA driver is loaded",
            remedy="none needed to read reports",
        )
    restricted = _search(r"RmProfilingAdminOnly:\s*(\d)", text) == "1"
    if not restricted:
        return Check(id="counters", status="ok", found="every user may read the performance counters")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Check(id="counters", status="ok", found="only administrators may read them, and this user is one")
    return Check(
        id="counters",
        status="absent",
        found="only administrators may read the performance counters (ERR_NVGPUCTRPERM)",
        remedy="load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run ncu as root",
    )


def keys(environment: Mapping[str, str]) -> Iterator[Check]:
    """Which keys of model services are set; their values are never looked at."""
    for name in KEYS:
        if name in environment:
            yield Check(id=f"key:{name}", status="ok", found="set")
        else:
            remedy = f"export {name}=… if rewrites shall come from that service"
            yield Check(id=f"key:{name}", status="absent", found="not set", remedy=remedy)


def cache() -> Check:
    """The folder of distilled profiles and whether it can be written."""
    from optimas_lsp.profile.cache import cache_folder

    place = cache_folder()
    nearest = next((each for each in (place, *place.parents) if each.exists()), place)
    if not os.access(nearest, os.W_OK):
        remedy = f"make {nearest} writable or set XDG_CACHE_HOME; until then every report is read anew"
        return Check(id="cache", status="absent", found=f"{place} cannot be written", remedy=remedy)
    files = [each for each in place.rglob("*") if each.is_file()] if place.is_dir() else []
    size = sum(each.stat().st_size for each in files)
    return Check(id="cache", status="ok", found=f"{place}: {len(files)} files, {size / 1e6:.1f} MB")


def corpus() -> Check:
    """The record of attempts, and whether like ones can be found in it."""
    from optimas_lsp.corpus import Corpus
    from optimas_lsp.corpus.failures import CorpusError
    from optimas_lsp.corpus.stats import stats_of

    store = Corpus.of_user().store
    try:
        found = stats_of(store)
    except CorpusError as error:
        return Check(id="corpus", status="absent", found=f"{error.where}: {error.what}", remedy=error.remedy)
    said = "; ".join(note.text for note in store.database.notes) or f"{found.path}: {found.attempts:,} attempts"
    if installed("scikit-learn") is None:
        remedy = "pip install 'optimas-lsp[campaign]' to find past attempts by likeness"
        return Check(id="corpus", status="absent", found=f"{said}; no search by likeness", remedy=remedy)
    return Check(id="corpus", status="ok", found=said)


def installed(name: str) -> str | None:
    """The version of a distribution, or None when it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def run(*command: str) -> str:
    """What a tool prints on standard output; empty when it fails, is missing or takes too long."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _search(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return None if found is None else found[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
