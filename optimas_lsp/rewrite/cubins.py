"""The command that compiles one source to machine code alone, with the options of the program's own build."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from optimas_lsp.rewrite.compile import COMPILERS, Command

OUTPUT = "optimas.cubin"

_PHASES = frozenset(
    {"-c", "--compile", "-dc", "--device-c", "-dw", "--device-w", "-dlink", "--device-link", "-lib", "--lib", "-link"}
    | {"--link", "-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin", "-run", "--run", "-E", "--preprocess"}
    | {"-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "--generate-dependencies"}
)
_WITH_VALUE = frozenset(
    {"-o", "--output-file", "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code"}
    | {"-l", "--library", "-L", "--library-path", "-Xlinker", "--linker-options", "-Xnvlink", "-MF", "-MT", "-MQ"}
)
_JOINED = ("-o=", "-arch=", "--gpu-architecture=", "-code=", "--gpu-code=", "-gencode=", "--generate-code=", "-l", "-L")
_KEEPS_NEXT = frozenset(
    {"-I", "--include-path", "-isystem", "--system-include", "-include", "--pre-include", "-D", "--define-macro", "-U"}
    | {"-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-ccbin", "--compiler-bindir", "-x", "-std"}
    | {"--std", "-maxrregcount", "--maxrregcount", "-m", "-t", "--threads", "-rdc", "--relocatable-device-code"}
)
_INPUTS = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c", ".o", ".obj", ".a", ".so", ".lib", ".ptx", ".cubin"})
_ARCHITECTURE = re.compile(r"(?:sm|compute)_(\d+)([af]?)")


def cubin_command(commands: Sequence[Command], source: Path, folder: Path, capability: int) -> Command | None:
    """How to compile ``source`` of the program in ``folder`` to one cubin for the GPU of ``capability`` (times ten).

    From the first nvcc command that names the source; None where none does: a build by other means tells no options.
    """
    for command in commands:
        if PurePath(command.arguments[0]).name not in COMPILERS:
            continue
        here = folder / command.folder
        named = [each for each in command.arguments[1:] if _is_input(each) and _same(here / each, source)]
        if not named:
            continue
        kept = tuple(_kept(command.arguments[1:]))
        output = ("-cubin", f"-arch={_architecture(command.arguments, capability)}", "-o", OUTPUT)
        return Command(
            arguments=(command.arguments[0], *kept, *output, named[0]),
            folder=command.folder,
            source=f"{command.source}, machine code alone",
        )
    return None


def _kept(arguments: Sequence[str]) -> Iterator[str]:
    """Options that decide what code comes out: no phases, outputs, architectures, libraries and inputs."""
    skip = keep = False
    for each in arguments:
        if skip:
            skip = False
        elif keep:
            keep = False
            yield each
        elif each in _WITH_VALUE:
            skip = True
        elif each in _KEEPS_NEXT:
            keep = True
            yield each
        elif each == "-lineinfo" or not (each in _PHASES or each.startswith(_JOINED) or _is_input(each)):
            yield each


def _is_input(argument: str) -> bool:
    return not argument.startswith("-") and PurePath(argument).suffix.lower() in _INPUTS


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _architecture(arguments: Sequence[str], capability: int) -> str:
    """The profiled GPU's, with the suffix for its own features if the build asks for those."""
    for number, suffix in _ARCHITECTURE.findall(" ".join(arguments)):
        if int(number) == capability and suffix:
            return f"sm_{number}{suffix}"
    return f"sm_{capability}"
