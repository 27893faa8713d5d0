"""Build the witness with the compiler at hand, and read what it recorded."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, Sequence

from . import process

SOURCES = ("witness.cpp", "digest.cu")
CACHE = "OPTIMAS_WITNESS_CACHE"
"""The variable with a folder of witnesses that jobs share without looking at them again: for trusted candidates."""
SHARED, SHARED_DIGEST = "OPTIMAS_WITNESS", "OPTIMAS_WITNESS_SHA256"
"""The variables with the library that whoever started this runner built, and with its SHA-256 (hexadecimal)."""
_LARGEST = 64 << 20
Entry = Dict[str, Any]


class WitnessUnavailableError(Exception):
    """The witness cannot be built here; the message says what is missing."""


def toolkit(nvcc: str) -> tuple[list[Path], list[Path]]:
    """Folders of the CUDA toolkit around ``nvcc`` that may hold CUPTI: (include folders, library folders)."""
    roots = [Path(os.path.realpath(nvcc)).parent.parent]
    roots += [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots += [Path("/usr/local/cuda")]
    include: list[Path] = []
    libraries: list[Path] = []
    for root in roots:
        for extra in ("", "extras/CUPTI", "targets/x86_64-linux", "targets/sbsa-linux"):
            include.append(root / extra / "include")
            libraries += [root / extra / "lib64", root / extra / "lib"]
    return [p for p in include if p.is_dir()], [p for p in libraries if p.is_dir()]


def build(sources: Path, cache: Path, nvcc: str | None) -> Path:
    """The path of ``libwitness.so``, built in ``cache`` unless it is there for these very sources and this compiler.

    Raises WitnessUnavailableError with the missing part or the compiler's last words.
    """
    gxx = shutil.which("g++") or shutil.which("c++")
    if not nvcc or not gxx:
        raise WitnessUnavailableError("the witness needs nvcc and g++; missing: " + ("nvcc" if not nvcc else "g++"))
    include, libraries = toolkit(nvcc)
    header = next((d for d in include if (d / "cupti.h").is_file()), None)
    library = next((f for d in libraries for f in sorted(d.glob("libcupti.so*"), reverse=True)), None)
    if header is None or library is None:
        raise WitnessUnavailableError(f"CUPTI was not found beside {nvcc} (install nvidia-cuda-cupti)")
    key = hashlib.sha256()
    for name in SOURCES:
        key.update(Path(sources, name).read_bytes())
    key.update(str(library).encode())
    key.update(subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, check=False, timeout=60).stdout)
    folder = Path(cache, key.hexdigest()[:16])
    built = folder / "libwitness.so"
    if built.is_file():
        return built
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / f"build-{os.getpid()}"
    work.mkdir(exist_ok=True)
    _tool([nvcc, "-O3", "-ptx", str(Path(sources, "digest.cu")), "-o", str(work / "digest.ptx")])
    ptx = json.dumps((work / "digest.ptx").read_text("utf-8"))[1:-1].split("\\n")
    lines = "\n".join(f'"{line}\\n"' for line in ptx)
    (work / "digest_ptx.h").write_text("static const char digest_ptx[] =\n" + lines + ";\n", "utf-8")
    command = [gxx, "-std=c++17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-I" + str(work)]
    command += ["-I" + str(d) for d in include]
    command += [str(Path(sources, "witness.cpp")), "-o", str(work / "libwitness.so"), "-L" + str(library.parent)]
    _tool([*command, "-l:" + library.name, "-ldl", "-lpthread", "-Wl,-rpath," + str(library.parent)])
    (work / "libwitness.so").replace(built)
    shutil.rmtree(work, ignore_errors=True)
    process.charge("witness build", time.monotonic() - began)
    return built


def shared(destination: Path) -> tuple[Path | None, str]:
    """(a copy in ``destination`` of the library that ``SHARED`` names, ''); (None, why) when it is not what was built.

    Candidates of other proofs can write where it lies. What is read is held against the digest and is itself written
    to the copy, so nothing can change in between. (None, '') when none is named.
    """
    named, digest = os.environ.get(SHARED), os.environ.get(SHARED_DIGEST)
    if not named or not digest:
        return None, ""
    try:
        data = _plain_file(Path(named))
        if hashlib.sha256(data).hexdigest() != digest:
            return None, "the witness that proofs share was changed, and is built anew for this one"
        destination.mkdir(parents=True, exist_ok=True)
        copy = destination / "libwitness.so"
        copy.write_bytes(data)
    except OSError as error:
        why = error.strerror or str(error)
        return None, f"the witness that proofs share cannot be taken ({why}), and is built anew for this one"
    return copy, ""


def _plain_file(path: Path) -> bytes:
    """The bytes of a file; raises OSError for what is none (a link, a pipe) or far too large."""
    number = os.open(str(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(number, "rb") as stream:
        state = os.fstat(number)
        if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST:
            raise OSError("it is no plain file of its size")
        return stream.read(_LARGEST)


def _tool(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
    if done.returncode:
        tail = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise WitnessUnavailableError("the witness could not be built: " + " ".join(tail))


def environment(
    library: Path,
    folder: Path,
    mode: Sequence[str],
    kernels: Sequence[str],
    seed: int,
    poison: int,
    dump: str = "",
) -> dict[str, str]:
    """The variables that put the witness into a program; its record goes to ``folder``."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return {
        "CUDA_INJECTION64_PATH": str(library),
        "OPTIMAS_WITNESS_DIR": str(folder),
        "OPTIMAS_WITNESS_MODE": ",".join(mode),
        "OPTIMAS_WITNESS_KERNELS": "\n".join(kernels) or "*",
        "OPTIMAS_WITNESS_SEED": f"{seed:016x}",
        "OPTIMAS_WITNESS_POISON": f"{poison:02x}",
        "OPTIMAS_WITNESS_DUMP": dump,
    }


class Testimony:
    """Everything one run's witness recorded, over all its processes, in order of process id.

    ``used`` is False for a run without a witness (``folder`` is None); then everything is empty.
    """

    __test__ = False

    def __init__(self, folder: Path | None) -> None:
        self.used = folder is not None
        self.starts: list[Entry] = []
        self.ends: list[Entry] = []
        self.launches: list[Entry] = []
        self.readbacks: list[Entry] = []
        self.uploads: list[Entry] = []
        self.times: list[Entry] = []
        self.failed: list[Entry] = []
        self.errors: list[Entry] = []
        bins = {
            "start": self.starts,
            "end": self.ends,
            "launch": self.launches,
            "readback": self.readbacks,
            "upload": self.uploads,
            "time": self.times,
            "failed": self.failed,
            "error": self.errors,
        }
        for path in sorted(folder.glob("witness-*.jsonl")) if folder else ():
            if path.is_symlink() or not path.is_file():
                self.errors.append({"what": "the record is not a plain file", "file": path.name})
                continue
            for text in path.read_text("utf-8", "replace").splitlines():
                try:
                    entry: Entry = json.loads(text)
                    bins.get(str(entry["event"]), []).append(entry)
                except (ValueError, TypeError, KeyError):
                    self.errors.append({"what": "a line of the record is broken", "file": path.name})

    @property
    def present(self) -> bool:
        """True when the library was loaded, could do its work, and the program ended in order."""
        return bool(self.starts) and all(s["loaded"] for s in self.starts) and len(self.ends) == len(self.starts)

    def why_absent(self) -> str:
        """The sentence for a run whose testimony cannot be used."""
        if not self.starts:
            return "the witness was not loaded (the program may not use CUDA, or CUDA_INJECTION64_PATH was refused)"
        why = next((s["why"] for s in self.starts if not s["loaded"]), "")
        return "the witness could not work: " + why if why else "the program ended before the witness could finish"

    def uncovered(self) -> dict[str, int]:
        """{kind of memory or call: count} that the witness does not look at."""
        counts: dict[str, int] = {}
        for end in self.ends:
            for kind, count in end.get("uncovered", {}).items():
                counts[kind] = counts.get(kind, 0) + count
        return counts

    def kernel_ns(self, names: Sequence[str]) -> tuple[int, int]:
        """Nanoseconds in the named kernels (mangled), and in all kernels, over the whole run."""
        wanted = sum(t["duration_ns"] for t in self.times if not names or t["kernel"] in names)
        return wanted, sum(t["duration_ns"] for t in self.times)
