"""How a profiled place leads to a line of the workspace as it is: through the report's text, or taken as it stands."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, NamedTuple

from optimas_lsp.insight.evidence import Cause, Location
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.source.anchors import Anchors, Measured, align
from optimas_lsp.source.text import SourceText


class Spot(NamedTuple):
    """Real path of a file of the workspace and a line of it as it is (1-based); None: its text changed."""

    path: str
    line: int | None


Lookup = Callable[[Location | Cause], Spot | None]


class Places(NamedTuple):
    """``today`` gives None for a file that is not in the workspace."""

    today: Lookup
    source: Literal["report", "assumed"]


def real_path(path: str) -> str:
    """A path without links; what no system can have as a path stays as it is."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


def through(marks: Marks) -> Places:
    """By content, as the prompt's lines were found."""

    def today(place: Location | Cause) -> Spot | None:
        found = marks.today(place)
        return None if found is None else Spot(os.path.realpath(found.unit.path), found.line)

    return Places(today, "report")


def _unchanged(place: Location | Cause) -> Spot | None:
    return Spot(real_path(place.path), place.line) if place.path and place.line >= 1 else None


AS_PROFILED = Places(_unchanged, "assumed")
"""For a text that is taken to be the profiled one."""


def aligned(profile: Profile, source: str, original: str) -> Places:
    """By content in the one file that is edited, which needs neither its folder nor the machine it was made on."""
    real, text = real_path(source), SourceText.of(original)
    files = {each.path: each for each in profile.files}
    known: dict[str, Anchors] = {}

    def today(place: Location | Cause) -> Spot | None:
        spot = _unchanged(place)
        if spot is None or spot.path != real or spot.line is None:
            return spot
        if place.file not in known:
            measured = Measured.of(files[place.file]) if place.file in files else None
            known[place.file] = align(measured or Measured.assume(text), text)
        return Spot(real, known[place.file].today(spot.line))

    return Places(today, "report")
