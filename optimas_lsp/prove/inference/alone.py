"""A program of a few files in one folder that no build file is about: the one ``main`` there, and what goes with it."""

from __future__ import annotations

from pathlib import Path

from optimas_lsp.prove.inference.wanted import BUILD, SOURCES, Built, Wanted, has_main, uses


def alone(wanted: Wanted) -> tuple[Built | None, str]:
    """The program, and a sentence that says why there is none."""
    source = wanted.source
    if source.suffix in SOURCES and has_main(source):
        return _built(wanted, [source]), ""
    beside = sorted(each for each in source.parent.iterdir() if each.suffix in SOURCES and each.is_file())
    mains = [each for each in beside if has_main(each)]
    around = [each for each in mains if uses([each], source)]
    if len(around) == 1:
        return _built(wanted, around), ""
    here = "." if source.parent == wanted.folder else wanted.name(source.parent)
    if not mains:
        return None, f"no file beside {wanted.name(source)} defines main"
    if len(mains) > 1:
        names = ", ".join(wanted.name(each) for each in (around or mains))
        return None, f"several programs could be meant, each with a main: {names}"
    if source.suffix not in SOURCES:
        return None, f"{wanted.name(mains[0])}, the only file in {here} with a main, does not include it"
    return _built(wanted, [mains[0], *(each for each in beside if each not in mains)]), ""


def _built(wanted: Wanted, sources: list[Path]) -> Built:
    name = sources[0].stem
    names = [wanted.name(each) for each in sources]
    cuda = any(each.suffix == ".cu" for each in sources) or wanted.source.suffix in {".cu", ".cuh"}
    arch = [f"-arch=sm_{wanted.capability}"] if wanted.capability else []
    compiler = ["nvcc", "-O3", *arch, "-lineinfo"] if cuda else ["g++", "-O3"]
    command = (*compiler, "-o", f"{BUILD}/{name}", *names)
    return Built(name, (command,), f"{BUILD}/{name}", tuple(sources))
