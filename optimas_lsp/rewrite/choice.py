"""Which kernel of a report a rewrite is about, and the source it is defined in."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from optimas_lsp.config import Settings
from optimas_lsp.errors import OptimasError, SourceError
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.locate import Resolve
from optimas_lsp.profile.model import Kernel, Profile, SourceFile
from optimas_lsp.rewrite.prompt_files import Files, Unit
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_reach import reach
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.source.functions import Function


class KernelChoiceError(OptimasError):
    """No kernel of the report is the one asked for, or several are."""


def choose(
    profile: Profile,
    settings: Settings,
    *,
    report: Path,
    source: Path,
    files: Files,
    resolve: Resolve,
    pattern: str = "",
    analysis: Analysis | None = None,
) -> Subject:
    """The costliest kernel that ``pattern`` (a regular expression; empty: any) matches and ``source`` is about.

    That is the file that defines it or, where it defines none of those kernels, a header whose functions it reaches.

    ``analysis`` is the report's, if there is one already. Evidence has the ids that ``analyze`` gives it, unless the
    kernel is not hot: then it is looked at alone. Raises SourceError for a source that cannot be read and
    KernelChoiceError when no kernel, or kernels with different definitions, are meant.
    """
    unit = files.unit(source)
    if unit is None:
        raise SourceError("this is no readable CUDA or Python source", where=source, remedy="give the kernel's file")
    wanted = _compiled(pattern)
    named = [kernel for kernel in profile.kernels if wanted.search(kernel.name) or wanted.search(kernel.mangled)]
    if not named:
        raise KernelChoiceError(f"no kernel matches {pattern}", where=report, remedy=_known(profile.kernels))
    leads = _resolver(profile, unit, resolve)
    homes = _homes(unit, named, [path for path in map(leads, profile.files) if path is not None], files)
    whole = analysis or analyze(profile, settings, report_path=report, resolve=leads)
    marks = Marks(profile, files)
    meant = [
        each
        for each in whole.kernels
        if each.mangled in homes
        and (homes[each.mangled].unit is unit or _reaches(homes[each.mangled], each, marks, unit))
    ]
    if not meant:
        names = ", ".join(kernel.base_name for kernel in named[:8])
        which = f"kernels that match {pattern}" if pattern else "kernels"
        raise KernelChoiceError(
            f"none of the report's {which} ({names}) is defined here or uses a function from here",
            where=source,
            remedy="give the file that defines the kernel, a header with device functions, or this program's report",
        )
    kernel = _costliest(meant, homes, pattern, source)
    if not kernel.hot:
        alone = analyze(
            profile, settings, report_path=report, resolve=leads, wanted=lambda each: each.mangled == kernel.mangled
        )
        [kernel] = alone.kernels
    return Subject(profile, kernel, unit, files, homes[kernel.mangled].unit)


@dataclass(frozen=True)
class Changeable:
    """One kernel of a report, the file that defines it, and what may change for it in a source file, by its names."""

    kernel: KernelAnalysis
    home: Path
    functions: tuple[str, ...]


def changeable(
    profile: Profile, kernels: Sequence[KernelAnalysis], *, source: Path, files: Files, resolve: Resolve
) -> tuple[Changeable, ...]:
    """The ``kernels`` that ``source`` is about, each with what may change: itself, and device functions it reaches.

    As for ``choose``, that is the file that defines them or a header whose functions they reach. Raises SourceError for
    a source that cannot be read or is about none of them.
    """
    unit = files.unit(source)
    if unit is None:
        raise SourceError("this is no readable CUDA or Python source", where=source, remedy="give the kernel's file")
    leads = _resolver(profile, unit, resolve)
    wanted = {each.mangled for each in kernels}
    named = [kernel for kernel in profile.kernels if kernel.mangled in wanted]
    homes = _homes(unit, named, [path for path in map(leads, profile.files) if path is not None], files)
    marks = Marks(profile, files)
    found: list[Changeable] = []
    for each in kernels:
        home = homes.get(each.mangled)
        if home is not None and (reached := reach(home.unit, home.function, each, marks, source=unit).changeable):
            found.append(Changeable(each, home.unit.path, tuple(function.shown_name for function in reached)))
    if not found:
        names = ", ".join(sorted({each.base_name for each in kernels})) or "none"
        raise SourceError(
            "none of the report's kernels is defined in this file, or uses a function from it",
            where=source,
            remedy=f"give the file that defines one of: {names}, or a header with device functions of theirs",
        )
    return tuple(found)


@dataclass(frozen=True)
class _Home:
    """Where a kernel is defined."""

    unit: Unit
    function: Function


def _homes(unit: Unit, named: Sequence[Kernel], paths: Sequence[Path], files: Files) -> dict[str, _Home]:
    """Definitions by mangled name: in ``unit``; if it defines none of the kernels, in the report's other files."""
    own = {each.mangled: _Home(unit, found) for each in named if (found := unit.syntax.kernel(each.name, each.mangled))}
    if own:
        return own
    others = [found for path in dict.fromkeys(paths) if (found := files.unit(path)) is not None and found is not unit]
    homes: dict[str, _Home] = {}
    for other in others:
        for each in named:
            function = other.syntax.kernel(each.name, each.mangled)
            if function is not None:
                homes.setdefault(each.mangled, _Home(other, function))
    return homes


def _reaches(home: _Home, kernel: KernelAnalysis, marks: Marks, unit: Unit) -> bool:
    return bool(reach(home.unit, home.function, kernel, marks, source=unit).changeable)


def _costliest(found: Sequence[KernelAnalysis], homes: dict[str, _Home], pattern: str, source: Path) -> KernelAnalysis:
    """The first, which is the costliest; instantiations of one template are one definition."""
    if (
        pattern
        and len({(home.unit.path, home.function.extent.start) for home in (homes[each.mangled] for each in found)}) > 1
    ):
        names = "; ".join(each.name for each in found)
        raise KernelChoiceError(
            f"several kernels match {pattern}: {names}", where=source, remedy="give more of the name to --kernel"
        )
    return found[0]


def _resolver(profile: Profile, unit: Unit, resolve: Resolve) -> Resolve:
    """``resolve``, and where that leads no file to ``unit``: the only file of its name is taken for it.

    That is safe because evidence is led to today's lines by their content.
    """
    real = os.path.realpath(unit.path)
    if any(path is not None and os.path.realpath(path) == real for path in map(resolve, profile.files)):
        return resolve
    same = [each for each in profile.files if PurePosixPath(each.path.replace("\\", "/")).name == unit.path.name]
    if len(same) != 1:
        return resolve
    [one] = same

    def leads(source: SourceFile) -> Path | None:
        return unit.path if source == one else resolve(source)

    return leads


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise KernelChoiceError(
            f"{pattern}: not a regular expression: {error}", remedy="put a backslash before a special character"
        ) from None


def _known(kernels: Sequence[Kernel]) -> str:
    return f"the report's kernels are: {', '.join(sorted({each.base_name for each in kernels})) or 'none'}"
