"""NVIDIA's disassembler from its PyPI wheel, run on one function of a cubin under limits and cached by content.

``nvdisasm -json`` prints opcodes and operands without line noise. It is a native program that reads untrusted bytes:
it runs in a child process with limits on time, memory and output, and what it prints is checked like any other input.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, cast

from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, Cubin, CubinError, Section
from optimas_lsp.sass.decode import Printed

TIME_LIMIT_S = 60.0
MEMORY_LIMIT_BYTES = 4 << 30
OUTPUT_LIMIT_BYTES = 512 << 20
_PACKAGE = "nvidia-cuda-nvdisasm"
_OPCODE = re.compile(r"[A-Z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$")
_GUARD = re.compile(r"@!?U?P[0-6T]$")


@cache
def executable() -> Path | None:
    """Where the wheel put ``nvdisasm``; None when the wheel is not installed (it exists for Linux and Windows)."""
    try:
        installed = files(_PACKAGE) or []
    except PackageNotFoundError:
        return None
    for entry in installed:
        if entry.stem == "nvdisasm" and entry.suffix in ("", ".exe"):
            path = Path(str(entry.locate()))
            if path.is_file() and os.access(path, os.X_OK):
                return path
    return None


def print_section(cubin: Cubin, section: Section) -> tuple[Printed, ...]:
    """The printed instructions of one code section, in order.

    Raises CubinError when the disassembler is missing, refuses the architecture, runs past its limits, or prints
    something that does not fit the section.
    """
    return _print_section(_Key(cubin, section))


class _Key:
    """A section with the cubin it is in, equal by content, so that the cache need not hash megabytes twice."""

    def __init__(self, cubin: Cubin, section: Section) -> None:
        self.cubin, self.section = cubin, section
        self.identity = (cubin.sha256, section.name)

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.identity == other.identity


@lru_cache(maxsize=64)
def _print_section(key: _Key) -> tuple[Printed, ...]:
    program = executable()
    if program is None:
        raise CubinError("the disassembler is not installed", remedy=f"pip install {_PACKAGE}")
    symbol = next((s for s in key.section.symbols if s.name == key.section.name), None)
    arguments = ["-json", *(["-fun", str(symbol.index)] if symbol is not None else [])]
    output = _run(program, arguments, key.cubin.elf)
    return read_json(output, key.section)


def _run(program: Path, arguments: list[str], elf: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="optimas-sass-") as folder:
        image, out, errors = Path(folder) / "module.cubin", Path(folder) / "out", Path(folder) / "errors"
        image.write_bytes(elf)
        with out.open("wb") as stdout, errors.open("wb") as stderr:
            try:
                done = subprocess.run(
                    [str(program), *arguments, str(image)],
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    timeout=TIME_LIMIT_S,
                    check=False,
                    env={"PATH": os.environ.get("PATH", ""), "TMPDIR": folder},
                    cwd=folder,
                    preexec_fn=_limit if sys.platform != "win32" else None,
                )
            except subprocess.TimeoutExpired:
                raise CubinError(f"the disassembler ran longer than {TIME_LIMIT_S:.0f} s") from None
            except OSError as error:
                raise CubinError(f"the disassembler cannot be started: {error.strerror}") from None
        said = errors.read_text("utf-8", "replace").strip().splitlines()
        if done.returncode != 0:
            why = next(
                (line for line in said if "fatal" in line or "error" in line), said[0] if said else "no reason given"
            )
            raise CubinError(f"the disassembler refused the code ({why.partition(':')[2].strip() or why})")
        if out.stat().st_size >= OUTPUT_LIMIT_BYTES:
            raise CubinError("the disassembler printed more than is read")
        return out.read_bytes()


def _limit() -> None:
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_LIMIT_BYTES, OUTPUT_LIMIT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_json(output: bytes, section: Section) -> tuple[Printed, ...]:
    """The instructions of ``section`` in what ``nvdisasm -json`` printed; raises CubinError when they do not fit."""
    try:
        document: Any = json.loads(output)
    except (ValueError, RecursionError) as error:
        raise CubinError(f"the disassembler's output is not JSON ({type(error).__name__})") from None
    function = next((f for f in _functions(document) if f.get("function-name") == section.name), None)
    if function is None:
        raise CubinError(f"the disassembler printed nothing for {section.name}")
    rows = function.get("sass-instructions")
    if not isinstance(rows, list):
        raise CubinError(f"the disassembler printed no instructions for {section.name}")
    made = tuple(_row(row) for row in cast("list[object]", rows))
    if len(made) * INSTRUCTION_BYTES != len(section.code):
        raise CubinError(
            f"the disassembler printed {len(made)} instructions of {section.name}, "
            f"its code has {len(section.code) // INSTRUCTION_BYTES}"
        )
    return made


def _functions(document: object) -> list[dict[str, object]]:
    if not isinstance(document, list):
        return []
    found: list[dict[str, object]] = []
    for part in cast("list[object]", document):
        if isinstance(part, list):
            found += [cast("dict[str, object]", f) for f in cast("list[object]", part) if isinstance(f, dict)]
    return found


def _row(row: object) -> Printed:
    if not isinstance(row, dict):
        raise CubinError("the disassembler printed an instruction that is none")
    fields = cast("dict[str, object]", row)
    guard, opcode, operands = fields.get("predicate"), fields.get("opcode"), fields.get("operands", "")
    if (
        not isinstance(opcode, str)
        or not _OPCODE.match(opcode)
        or not isinstance(operands, str)
        or len(operands) > 1000
    ):
        raise CubinError(f"the disassembler printed an instruction that is none: {str(opcode)[:40]!r}")
    if guard is not None and not (isinstance(guard, str) and _GUARD.match(guard)):
        raise CubinError(f"the disassembler printed a guard that is none: {str(guard)[:40]!r}")
    return Printed(guard, opcode, operands)
