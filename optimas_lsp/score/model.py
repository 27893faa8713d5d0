"""The scores of one answer: the published schema ``optimas.ear/1``."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from optimas_lsp.profile.model import Frozen
from optimas_lsp.score.measure import Measure

SCHEMA: Literal["optimas.ear/1"] = "optimas.ear/1"


class Citations(Frozen):
    """What the answer says it rests on. Findings that the prompt told as one are one item.

    ``coverage``: given items that an applied change cites, of those given. ``considered``: those and the ones that only
    an idea not applied cites. ``precision``: cited ids that were given, of all ids cited.
    """

    coverage: Measure
    considered: Measure
    precision: Measure
    cited: tuple[str, ...] = Field(default=(), description="given items that a change cites")
    uncited: tuple[str, ...] = Field(default=(), description="given items that no change cites")
    invented: tuple[str, ...] = Field(default=(), description="cited ids that were not given")


class Standing(Frozen):
    """One given finding and the lines of the edited file on which it stands (1-based, in the text before the edit)."""

    id: str
    lines: tuple[int, ...]


class Localisation(Frozen):
    """Whether the edit is where the samples are. A line is hot from 1 % of the kernel's samples on.

    Lines of one statement are one place; a sample lies on every line of its inline chain. ``hot_samples``: samples of
    hot places that lie on edited ones, of all samples of hot places. ``edited_lines``: edited lines that are hot, of
    those edited. The other two also count an edit of a line that hot samples wait for, as blame tells it.
    """

    hot_samples: Measure
    edited_lines: Measure
    hot_samples_caused: Measure
    edited_lines_causing: Measure
    lines_from: Literal["report", "assumed"] | None = Field(
        default=None, description="how profiled lines were led to today's: through the report's text, or as they are"
    )
    edited: tuple[int, ...] = Field(default=(), description="edited lines with code, in the text before the edit")
    hot: tuple[int, ...] = Field(default=(), description="hot lines of the edited file, in the text before the edit")
    lost_samples: int = Field(default=0, description="of hot places whose text changed since profiling: left out")
    standing: tuple[Standing, ...] = ()


class Direction(Frozen):
    """Whether what was measured again moved as the evidence implies, by more than the noise of its samples.

    ``given``: of all findings of the profile that were measured before and after; ``cited``: of those that a change
    cites. What stayed within the noise counts in the denominator.
    """

    given: Measure
    cited: Measure
    as_implied: tuple[str, ...] = ()
    other_way: tuple[str, ...] = ()
    within_noise: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()


class Scores(Frozen):
    """``optimas.ear/1``: Evidence-Aligned Reasoning of one answer, three scores with their intervals.

    ``attempt`` is the answer's number, None where there was none. ``interval`` names the method of all intervals.
    """

    schema_: Literal["optimas.ear/1"] = Field(default=SCHEMA, alias="schema")
    attempt: int | None
    interval: Literal["wilson-95"] = "wilson-95"
    citations: Citations
    localisation: Localisation
    direction: Direction

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)
