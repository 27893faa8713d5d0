"""The Profile: what one report file holds, frozen, portable and independent of any profiler library.

This is also the distilled file format (``*.optimas.json``): ``Profile.schema_version`` names it, ``optimas schema
profile`` prints its JSON schema. Samples are kept per *kernel* (summed over its launches) because code, blame and
evidence are per function; everything that differs from launch to launch (time, grid, counters, rules) is per launch.
Unknown is ``None``, never 0. Lines are 1-based, as profilers count; 0 means the line table says "no line".
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION: Literal["optimas.profile/1"] = "optimas.profile/1"

NOT_STALLED = frozenset({"selected", "not_selected"})
"""Reasons that are no stall: the warp issued, or another eligible warp was chosen instead."""


class Frozen(BaseModel):
    """Base of every model: immutable, strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Device(Frozen):
    """The GPU of the report; ``attributes`` holds each ``device__attribute_*`` value, named without that prefix."""

    name: str
    compute_capability: tuple[int, int]
    attributes: dict[str, float | str] = {}


class Tool(Frozen):
    """The profiler that wrote the report, e.g. ``ncu`` ``2025.3.1``."""

    name: str
    version: str


class MetricInfo(Frozen):
    """One scalar counter: its full name, base unit and the vendor's own description (empty when it gives none)."""

    name: str
    unit: str
    description: str = ""


class RuleResult(Frozen):
    """One result of the profiler's own rules on one launch.

    ``speedup_percent`` is the vendor's estimate; ``speedup_type`` says whether of the whole launch (global) or of the
    part it is about (local). ``message`` is plain text, the vendor's link marks removed. ``focus_metrics`` are names.
    """

    identifier: str
    section: str
    title: str
    message: str
    severity: Literal["ok", "info", "optimization", "warning", "error"]
    speedup_type: Literal["global", "local"] | None = None
    speedup_percent: float | None = None
    focus_metrics: tuple[str, ...] = ()


class Launch(Frozen):
    """One kernel execution. ``counters`` is aligned with ``Profile.metrics``; ``None`` = not collected."""

    index: int = Field(description="position in the report, from 0")
    kernel: int = Field(description="index into Profile.kernels")
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    duration_ns: float | None
    counters: tuple[float | None, ...]
    rules: tuple[int, ...] = Field(default=(), description="indices into Profile.rules (results are often repeated)")
    samples_total: int = 0
    samples_not_issued: int = 0
    process: str = ""
    stream: int | None = None


class SourceFile(Frozen):
    """One file the line table names.

    ``text`` is the embedded source (``--import-source yes``) or ``None``. ``line_digests`` is the fingerprint used
    when there is no text: the first 8 hex digits of SHA-256 of each line (without its end) as the file stood when the
    report was distilled, present only when that file was not newer than the report.
    """

    path: str
    text: str | None = None
    line_digests: tuple[str, ...] | None = None


class Frame(Frozen):
    """One step of an inline chain. ``file`` indexes ``Profile.files`` (-1 unknown); ``function`` as far as known."""

    file: int
    line: int
    function: str | None = None


class Samples(Frozen):
    """PC samples as parallel columns: sampled warps at ``instruction[k]`` with ``reason[k]``.

    ``instruction`` indexes the kernel's instruction columns, ``reason`` indexes ``Profile.reasons``; ``all_`` counts
    every sample, ``not_issued`` those taken in cycles in which the scheduler issued nothing. No (instruction, reason)
    pair occurs twice; all-zero pairs are left out.
    """

    instruction: tuple[int, ...] = ()
    reason: tuple[int, ...] = ()
    all_: tuple[int, ...] = Field(default=(), alias="all")
    not_issued: tuple[int, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class CauseEdge(Frozen):
    """One answer to "who made this instruction wait": filled by ``sass/``, absent where nothing could be decoded.

    ``share`` is this producer's part of the samples of (``consumer``, ``reason``); the shares of one pair sum to at
    most 1, the remainder has no known cause. ``kind``: ``raw`` value not there yet, ``war`` operand not read yet,
    ``sync`` barrier or fence, ``self`` the instruction itself (throttles, fetch), ``drain`` the last stores.
    """

    consumer: int
    reason: int
    producer: int
    share: float
    kind: Literal["raw", "war", "sync", "self", "drain"]
    confidence: Literal["certain", "dominant", "shared"]


class Code(Frozen):
    """The machine code of one kernel as parallel columns, one entry an instruction, ascending by ``offset``.

    ``offset`` is bytes from the kernel's first instruction. ``chain`` indexes ``chains`` (-1: no line information);
    a chain runs from the innermost location out to the kernel. ``executed`` / ``thread_executed`` are warp- and
    thread-level execution counts summed over launches (``None``: not collected). ``metrics`` holds further
    per-instruction sums by the profiler's name (e.g. ``memory_l2_theoretical_sectors_global``).
    ``chains_from`` says whether chains are only the line table's first row (``report``) or whole (``cubin``).
    """

    sha256: str = Field(description="of the concatenated SASS text, or of the code bytes where known")
    offset: tuple[int, ...]
    sass: tuple[str, ...]
    chain: tuple[int, ...]
    chains: tuple[tuple[Frame, ...], ...]
    executed: tuple[int, ...] | None = None
    thread_executed: tuple[int, ...] | None = None
    metrics: dict[str, tuple[int, ...]] = {}
    chains_from: Literal["report", "cubin"] = "report"
    module: str | None = Field(default=None, description="digest of the embedded cubin it is from (Module.sha256)")
    causes: tuple[CauseEdge, ...] | None = Field(default=None, description="None: causes withheld, see Profile.notes")


class Kernel(Frozen):
    """Launches that ran the same code under the same mangled name. Equal base names never merge."""

    mangled: str
    name: str = Field(description="demangled, with template arguments and parameter types")
    base_name: str = Field(description="without namespace, template arguments and parameters, e.g. 'triad'")
    code: Code
    samples: Samples
    sampling_interval_ns: float | None = None


class Module(Frozen):
    """A cubin embedded in the report, base64 in JSON. Dropped from the distilled form once ``sass/`` has used it."""

    sha256: str
    elf: bytes

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Note(Frozen):
    """Something the reader must tell the user, in words: what is missing and what to do about it."""

    code: str = Field(description="stable, e.g. 'no-samples', 'no-lineinfo', 'basic-set', 'causes-withheld'")
    text: str
    kernel: str | None = Field(default=None, description="mangled name when it concerns one kernel")


class Profile(Frozen):
    """What one report holds. ``report_sha256`` is of the report's bytes, the key of every cache."""

    schema_version: Literal["optimas.profile/1"] = SCHEMA_VERSION
    distiller: str = Field(description="version of the distiller that wrote this")
    report_name: str = Field(description="file name of the report, no folder")
    report_sha256: str
    report_bytes: int
    tool: Tool
    device: Device
    metrics: tuple[MetricInfo, ...]
    reasons: tuple[str, ...] = Field(description="stall reasons as the profiler names them, e.g. 'long_scoreboard'")
    files: tuple[SourceFile, ...]
    rules: tuple[RuleResult, ...] = ()
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    modules: tuple[Module, ...] = ()
    notes: tuple[Note, ...] = ()
