"""One attempt as the corpus keeps it (schema ``optimas.attempt/1``): code, evidence, change, gates, times, scores.

Everything is plain data that makes sense on another machine: no absolute path, no answer's raw text, no key.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from optimas_lsp.insight.evidence import EvidenceSource, Expectation
from optimas_lsp.profile.model import Frozen

SCHEMA: Literal["optimas.attempt/1"] = "optimas.attempt/1"

Ending = Literal["proven", "refuted", "not-proven", "not-built", "refused", "unusable", "nothing"]
"""How far an attempt came. ``not-proven``: it stands, but nobody ran it. ``refused``: by a guardrail. ``unusable``: the
answer was no proposal. ``nothing``: the backend proposed no change."""

JUDGED: tuple[Ending, ...] = ("proven", "refuted", "not-built", "refused")
"""Endings that say something about a transformation; the others leave it open."""

NoKind = Literal["rejected", "reverted"]
"""``rejected``: a person did not want the edit. ``reverted``: it was applied and taken back."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**53), le=2**53)]

_NOT_IDENTITY: dict[str, Any] = {"key": True, "date": True, "origin": {"project", "licence", "optimas"}}
"""What may differ between two records of one attempt."""


class Finding(Frozen):
    """One item of evidence. ``share`` is of the kernel's PC samples, ``margin`` its 95 % half-width (both 0 to 1).

    ``file`` is relative to the program's folder or a bare name; ``line`` is 1-based in the profiled text.
    """

    id: str
    source: EvidenceSource
    rule: str
    level: Literal["act", "hot", "note"] = "note"
    share: Finite = 0.0
    margin: Finite = 0.0
    samples: Whole = 0
    not_issued: Whole = 0
    confidence: str | None = None
    file: str | None = None
    line: Whole | None = None
    text: str = ""
    expects: tuple[Expectation, ...] = ()
    bound: Finite | None = Field(default=None, description="what acting on it buys at most, a speed-up factor")


class Step(Frozen):
    """One change of the proposal: what was done where, in answer to which evidence."""

    function: str
    lines: tuple[Whole, Whole] = Field(description="first and last line in the original file, 1-based")
    transformation: str
    evidence: tuple[str, ...] = ()
    reason: str = ""
    expects: tuple[Expectation, ...] = ()


class NewText(Frozen):
    """A function's whole new text."""

    function: str
    text: str


class Gate(Frozen):
    """One check of the proof or one guardrail that did not pass."""

    name: str
    status: Literal["pass", "fail", "flag", "skipped"]
    sentence: str = ""
    seconds: Finite = 0.0


class Effect(Frozen):
    """Time before and after, nanoseconds of one run; ``speedup`` is their ratio with its 95 % interval."""

    before_ns: Finite
    after_ns: Finite
    speedup: Finite
    low: Finite
    high: Finite


class Timing(Frozen):
    """What was timed, on which input, in how many interleaved pairs, by which clock."""

    input: str = ""
    pairs: Whole = 0
    clock: str = ""
    kernel: Effect | None = None
    gpu: Effect | None = None
    program: Effect | None = None


class Standing(Frozen):
    """Where the kernel stood before: roofline verdict, percent of peak (0 to 100), factors still to gain at most."""

    verdict: str = ""
    compute_pct: Finite | None = None
    memory_pct: Finite | None = None
    ceiling: Finite | None = None
    work_ceiling: Finite | None = None


class Device(Frozen):
    """The profiled GPU; ``driver`` is that of the machine that ran the proof."""

    name: str = ""
    compute_capability: tuple[Whole, Whole] | None = None
    driver: str = ""

    @property
    def generation(self) -> str:
        """What GPUs share that behave alike: the architecture's number, else the name, else empty."""
        return f"sm_{self.compute_capability[0]}" if self.compute_capability else self.name


class Named(Frozen):
    """One tool and its version."""

    name: str
    version: str


class Author(Frozen):
    """Who proposed: the backend, its model, the prompt's schema and subset of evidence, tokens and cost if known."""

    backend: str
    model: str = ""
    prompt: str = ""
    subset: str = ""
    temperature: Finite | None = None
    input_tokens: Whole | None = None
    output_tokens: Whole | None = None
    cost_usd: Finite | None = None


class Origin(Frozen):
    """Where the code and the figures are from. ``licence`` is an SPDX expression; None: not known."""

    project: str = ""
    licence: str | None = None
    report_sha256: str = ""
    source_sha256: str = Field(default="", description="of the file's text before the change, UTF-8")
    job: str = Field(default="", description="hash of the proof's job")
    recorded: str = ""
    optimas: str = ""


class Entry(Frozen):
    """``optimas.attempt/1``: one answer to one kernel's evidence and what became of it.

    ``key`` is the digest of all but itself, ``date`` and whose code it is, so that one attempt is one entry everywhere.
    ``code`` is the text of the functions that could be changed, ``patch`` the change to the file as a unified diff.
    """

    schema_: Literal["optimas.attempt/1"] = Field(default=SCHEMA, alias="schema")
    key: str = Field(default="", pattern=r"^(?:[0-9a-f]{64})?$")
    date: str = Field(default="", pattern=r"^(?:\d{4}-\d{2}-\d{2}(?:T[0-9:.+Z-]+)?)?$", description="UTC, ISO 8601")
    ending: Ending
    sentence: str = ""
    kernel: str = Field(description="demangled name")
    mangled: str = ""
    base_name: str = ""
    file: str = Field(description="the changed file, relative to the program's folder")
    language: Literal["cuda", "python"] = "cuda"
    number: Whole = Field(default=1, description="which answer of its rewrite")
    code: str = ""
    patch: str = ""
    functions: tuple[NewText, ...] = ()
    steps: tuple[Step, ...] = ()
    bit_exact: bool | None = None
    findings: tuple[Finding, ...] = ()
    standing: Standing | None = None
    time_ns: Finite | None = Field(default=None, description="GPU time of the kernel in the profile, all launches")
    share: Finite | None = Field(default=None, description="of the report's GPU time, 0 to 1")
    grid: tuple[Whole, Whole, Whole] | None = None
    block: tuple[Whole, Whole, Whole] | None = None
    gates: tuple[Gate, ...] = ()
    timing: Timing | None = None
    not_checked: tuple[str, ...] = ()
    scores: dict[str, Any] | None = Field(default=None, description="EAR scores, optimas.ear/1; None: not measured")
    explanation: tuple[str, ...] = ()
    compared: dict[str, Any] | None = Field(
        default=None, description="both profiles, optimas.compare/1; None: no second"
    )
    device: Device = Device()
    tools: tuple[Named, ...] = ()
    author: Author
    origin: Origin = Origin()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of the evidence, heaviest first, each once."""
        ordered = sorted(self.findings, key=lambda each: -each.share)
        return tuple(dict.fromkeys(each.rule for each in ordered))

    @property
    def transformations(self) -> tuple[str, ...]:
        """What was done, by the name that spellings share, each once, in order."""
        return tuple(dict.fromkeys(slug(each.transformation) for each in self.steps))

    @property
    def effect(self) -> Effect | None:
        """Kernel time before and after, where it was measured."""
        return None if self.timing is None else self.timing.kernel

    def digest(self) -> str:
        """What ``key`` has to be. Fields that are as by default do not count: a new one changes no key."""
        data = self.model_dump(mode="json", by_alias=True, exclude=_NOT_IDENTITY, exclude_defaults=True)
        return hashlib.sha256(canonical(data).encode("utf-8", "surrogatepass")).hexdigest()

    def keyed(self) -> Entry:
        """The entry with its key."""
        return self.model_copy(update={"key": self.digest()})


class Source(Frozen):
    """The dataset that an attempt was imported with. ``id`` is that of its attempts, whatever its title and form."""

    id: str = Field(pattern=r"^[0-9a-f]{64}$")
    title: str

    @classmethod
    def of(cls, keys: Iterable[str], title: str) -> Source:
        """The dataset of the attempts with these keys."""
        return cls(id=hashlib.sha256("\n".join(sorted({*keys})).encode()).hexdigest(), title=title)


def canonical(data: object) -> str:
    """JSON that is the same for the same data."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def slug(name: str) -> str:
    """One spelling for ``Vectorised load``, ``vectorised_load`` and ``vectorised-load``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
