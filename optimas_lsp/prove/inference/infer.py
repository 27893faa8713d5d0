"""The target of a program: what ``optimas.toml`` says, else what its build files or its sources let one conclude."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from optimas_lsp.config import FILE_NAME, load_toml
from optimas_lsp.prove.inference.alone import alone
from optimas_lsp.prove.inference.cmake import FILE as CMAKE
from optimas_lsp.prove.inference.cmake import read_project
from optimas_lsp.prove.inference.database import PLACES, from_database
from optimas_lsp.prove.inference.makefile import FILES as MAKE
from optimas_lsp.prove.inference.makefile import read_makefile
from optimas_lsp.prove.inference.wanted import Built, Inferred, NoTargetError, Wanted, choose, text_of
from optimas_lsp.prove.target import Target, parse_target

NOT_UNDERSTOOD = (OSError, ValueError, RecursionError)
"""What names and nesting that no real build file has end in."""

HIGHEST = 12
"""Folders above a source that are looked at for a build file."""


def find_target(wanted: Wanted) -> Inferred:
    """The configured target or an inferred one. Runs nothing.

    Raises ConfigError for a wrong ``[target]`` and NoTargetError, with what is needed, where nothing can be inferred.
    """
    toml = wanted.folder / FILE_NAME
    table = load_toml(toml).get("target") if toml.is_file() else None
    if table is not None:
        return Inferred(parse_target(table, where=str(toml)))
    if wanted.source.suffix == ".py":
        return _script(wanted)
    reasons: list[str] = []
    for way, name in (
        (_from_cmake, CMAKE),
        (_from_make, MAKE[-1]),
        (_from_database, PLACES[0]),
        (_alone, "the folder"),
    ):
        try:
            found, said = way(wanted)
        except NOT_UNDERSTOOD:
            reasons.append(f"{name} cannot be understood")
            continue
        if found is not None:
            return _inferred(wanted, found, said)
        reasons += said
    raise _needed(wanted, reasons)


def root_of(source: Path) -> Path | None:
    """The nearest folder above ``source``, within its repository, whose build files make a program of it."""
    for folder in list(source.absolute().parents)[:HIGHEST]:
        with contextlib.suppress(*NOT_UNDERSTOOD):
            if _makes(Wanted(folder, source.absolute())):
                return folder
        if (folder / ".git").exists() or folder == Path.home():
            break
    return None


def _makes(wanted: Wanted) -> bool:
    project, made = read_project(wanted), read_makefile(wanted)
    programs = (*(project.programs(None) if project else ()), *(made.programs() if made else ()))
    return any(choose([each], wanted)[0] for each in programs) or from_database(wanted)[0] is not None


Found = tuple[Built | None, list[str]]


def _from_cmake(wanted: Wanted) -> Found:
    project = read_project(wanted)
    if project is None:
        return None, []
    one, said = choose(project.programs(wanted.capability), wanted)
    if one is None:
        return None, [said or f"no program in {CMAKE} is made of {wanted.name(wanted.source)}"]
    notes = [f"{CMAKE} makes the program {one.name} of {_names(wanted, one)}", *([said] if said else [])]
    notes += [f"conditions in {CMAKE} were not evaluated: what stands in them counts"] if project.conditions else []
    others = [each for each in MAKE if (wanted.folder / each).is_file()]
    return one, notes + [f"{each} is there, too, and was not used" for each in others]


def _from_make(wanted: Wanted) -> Found:
    made = read_makefile(wanted)
    if made is None:
        return None, []
    one, said = choose(made.programs(), wanted)
    if one is None:
        why = said or f"no rule of {made.name} links a program of {wanted.name(wanted.source)}"
        return None, [why + (", as far as it can be read without running make" if not said else "")]
    notes = [f"{made.name} makes the program {one.binary} of {_names(wanted, one)}", *([said] if said else [])]
    notes += [f"conditions in {made.name} were not evaluated: what stands in them counts"] if made.conditions else []
    notes += [f"files that {made.name} includes were not looked at"] if made.included else []
    return one, notes


def _from_database(wanted: Wanted) -> Found:
    one, said = from_database(wanted)
    if one is None:
        return None, [said] if said else []
    notes = [
        f"compile_commands.json compiles {_names(wanted, one)}",
        "how to link stands in no compilation database: libraries that the program needs are not known",
    ]
    return one, notes


def _alone(wanted: Wanted) -> Found:
    one, said = alone(wanted)
    if one is None:
        return None, [said]
    return one, [f"{wanted.name(one.sources[0])} defines main; no build file is about it"]


def _inferred(wanted: Wanted, found: Built, notes: list[str]) -> Inferred:
    command = found.binary if "/" in found.binary else f"./{found.binary}"
    target = Target(build=found.commands, inputs={"default": (command,)}, binary=found.binary)
    return Inferred(target, (*notes, *_assumed(found.binary)))


def _assumed(program: str) -> tuple[str, ...]:
    return (
        f"{program} is run without arguments, as the only input: the report does not say what it was given",
        "what it prints is compared, every line of it; files that it writes, and lines that may differ, are not known",
        f"a [target] table in {FILE_NAME} says otherwise, see docs/proof.md",
    )


def _script(wanted: Wanted) -> Inferred:
    name = wanted.name(wanted.source)
    if not re.search(r"^if __name__ == ['\"]__main__['\"]", text_of(wanted.source), re.MULTILINE):
        raise _needed(wanted, [f"{name} does nothing when it is run (it has no: if __name__ == '__main__')"])
    target = Target(inputs={"default": ("python3", name)})
    return Inferred(target, (f"{name} is a program of its own", *_assumed(name)))


def _names(wanted: Wanted, built: Built) -> str:
    names = [wanted.name(each) for each in built.sources]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _needed(wanted: Wanted, reasons: list[str]) -> NoTargetError:
    """What to do, with a table to fill in."""
    above = root_of(wanted.source)
    if above is not None and above != wanted.folder:
        remedy = f"its program is built in {above}: put {FILE_NAME} there, or [target] into the one here"
        return NoTargetError("; ".join(reasons), where=wanted.source, remedy=remedy)
    return NoTargetError(
        "nothing says how to build and run a program with this kernel: " + "; ".join(reasons),
        where=wanted.source,
        remedy="write or name a program that runs the kernel on its real input and prints or writes the result, and "
        f'put into {wanted.folder / FILE_NAME}: [target] build = [["nvcc", "-O3", "-o", "program", "main.cu"]], '
        'inputs = {default = ["./program"]}, binary = "program", see docs/proof.md',
    )
