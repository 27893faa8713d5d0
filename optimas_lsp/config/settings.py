"""Every setting, once: the editor's configuration, ``optimas.toml``, the manual and the VS Code schema come from here.

Keys are camelCase in the editor and in JSON (``optimas.hotKernels.coverage``), snake_case in Python and in
``optimas.toml`` (``[hot_kernels] coverage``); both spellings are accepted everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """Base of every group of settings."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class HotKernels(Section):
    """Which kernels are worth looking at."""

    coverage: float = Field(default=0.80, gt=0, le=1)
    """The smallest set of kernels that covers this share of GPU time is hot (0 to 1)."""

    maximum: int = Field(default=3, ge=1, le=100)
    """At most this many kernels are hot."""


class Lines(Section):
    """Which lines and reasons become findings."""

    dominant_reason: float = Field(default=0.30, ge=0, le=1)
    """A stall reason is kept on a line when it holds at least this share of the line's stalled samples (0 to 1)."""

    minimum_share: float = Field(default=0.01, ge=0, le=1)
    """A line needs at least this share of its kernel's samples to be shown (0 to 1)."""

    actionable_share: float = Field(default=0.05, ge=0, le=1)
    """From this share of the kernel's samples on, a finding is a warning rather than information (0 to 1)."""

    minimum_samples: int = Field(default=200, ge=0)
    """Below this many samples in a kernel nothing is a warning and the text says "too few samples"."""

    busy_issue: float = Field(default=0.70, ge=0, le=1)
    """Where schedulers issue in more than this share of cycles, stalls are noise and the advice says so (0 to 1)."""


class Diagnostics(Section):
    """Squiggles."""

    enable: bool = True
    """Show findings as diagnostics."""

    maximum_per_file: int = Field(default=100, ge=0)
    """At most this many diagnostics in one file, the costliest first."""

    hints: bool = True
    """Also show findings below the information level as hints."""

    known: Literal["hide", "hint"] = "hide"
    """What becomes of findings that were marked as known: they are not shown, or shown as hints."""


class InlayHints(Section):
    """Text at line ends."""

    enable: bool = True
    """Show the share of samples and the main reason at the end of hot lines."""

    maximum_per_file: int = Field(default=40, ge=0)
    """At most this many inlay hints in one file, the costliest first."""


class CodeLens(Section):
    """Lines above kernels."""

    enable: bool = True
    """Show share of GPU time, duration and verdict above each profiled kernel."""


class PathMap(Section):
    """One rule that leads from the path in a profile to the path here."""

    from_: str = Field(alias="from")
    """Prefix of the path as it stands in the profile."""

    to: str
    """Folder that takes its place; relative to the workspace folder."""


class Profiles(Section):
    """Where reports are and how they are read."""

    reports: tuple[str, ...] = ("**/*.ncu-rep", "**/*.ncu-repz", "**/*.optimas.json", "**/*.optimas.json.zst")
    """Glob patterns, relative to the workspace folder, of the reports to open; elsewhere a report's whole path."""

    exclude: tuple[str, ...] = ("**/.git/**", "**/node_modules/**", "**/.venv/**")
    """Glob patterns of what is never searched for reports."""

    @field_validator("reports")
    @classmethod
    def _inside(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse patterns that can match nothing: those that lead out of the folder, or search outside of it."""
        for pattern in patterns:
            outside = Path(pattern).is_absolute()
            if not outside and ".." in pattern.replace("\\", "/").split("/"):
                raise ValueError(
                    f"'{pattern}' leads out of the folder, where nothing is searched; name the report by its whole path"
                )
            if outside and any(char in pattern for char in "*?{"):
                raise ValueError(
                    f"'{pattern}' would search outside of the folder; name each report there by its whole path"
                )
        return patterns

    use: str = ""
    """The one report to show when several concern a file; empty: the newest."""

    poll_seconds: float = Field(default=2.0, ge=0.2, le=3600)
    """How often reports are looked at when the editor does not watch files (seconds)."""

    workers: int = Field(default=0, ge=0, le=64)
    """Worker processes that read one report; 0: as many as there are cores, two at most."""

    time_limit_seconds: float = Field(default=300.0, gt=0)
    """A worker that needs longer than this to read a report is ended (seconds)."""

    memory_limit_mb: int = Field(default=4096, ge=256)
    """A worker that needs more memory than this is ended (MB)."""


BackendName = Literal["catalogue", "openai", "gemini", "ollama", "manual"]
AllowanceName = Literal["helpers", "kernels", "globals", "launch-bounds", "fast-math", "volatile", "inline-assembly"]


class Rewrite(Section):
    """How a rewrite is asked for. Keys come from the environment or the keyring, never from here."""

    backend: BackendName = "catalogue"
    """Who proposes: the embedded catalogue (no network), a service, a local server, or a person (``manual``)."""

    model: str = ""
    """The model's name as its service knows it; the catalogue and ``manual`` need none."""

    base_url: str = ""
    """Address of the service; empty: the backend's own. Any server that speaks the backend's protocol will do."""

    timeout_seconds: float = Field(default=300.0, gt=0, le=7200)
    """One request is given up after this time (seconds)."""

    retries: int = Field(default=3, ge=0, le=10)
    """How often a request is sent again after a passing failure (rate limit, server error; a time-out once)."""

    attempts: int = Field(default=3, ge=1, le=3)
    """Answers asked for at most, when one is refused or does not compile; after that a person has to look at it."""

    samples: int = Field(default=1, ge=1, le=50)
    """How often a model is asked anew; where proofs can be made, what stands of its answers is compared."""

    prompt_tokens: int = Field(default=24_000, ge=1000)
    """A prompt takes at most this many tokens (estimated); the least valuable evidence is left out first."""

    max_tokens: int = Field(default=16_000, ge=256)
    """An answer takes at most this many tokens, reasoning included."""

    temperature: float = Field(default=0.2, ge=0, le=2)
    """Sampling temperature, for models that take one."""

    structured: bool = True
    """Have the service enforce the answer's JSON schema where it can."""

    allow: tuple[AllowanceName, ...] = ()
    """What the guardrails let pass beyond the default."""

    price_input: float = Field(default=0.0, ge=0)
    """Price of a million input tokens (USD); 0: the built-in table's, which has a date."""

    price_output: float = Field(default=0.0, ge=0)
    """Price of a million output tokens (USD); 0: the built-in table's, which has a date."""


class Guard(Section):
    """How large a rewrite may be; what it may do is `rewrite.allow`."""

    lines: int = Field(default=250, ge=1)
    """A rewritten function may have this many lines, or `guard.growth` times as many as before."""

    growth: int = Field(default=8, ge=1)
    """A rewritten function may have this many times its old lines, however many `guard.lines` allows."""

    characters: int = Field(default=60_000, ge=1)
    """A rewritten function may have this many characters."""

    functions: int = Field(default=8, ge=1)
    """One rewrite may change this many functions."""


ExecutorName = Literal["local", "ssh", "slurm", "recorded"]


class Prove(Section):
    """Where and how a candidate is proven. What is built and run stands in the program's own `[target]`."""

    executor: ExecutorName = "local"
    """Where proofs run: this machine, another one over ssh, a Slurm cluster, or (``recorded``) nowhere: then results
    that were recorded for exactly the same change are shown, with their machine and date."""

    host: str = ""
    """The host for ``ssh``, as ssh knows it."""

    ssh_options: tuple[str, ...] = ()
    """Words passed on to ssh as they are."""

    partition: str = ""
    """Slurm's partition; empty: its default."""

    account: str = ""
    """Slurm's account; empty: its default."""

    gpus: str = "gpu:1"
    """What Slurm's ``--gres`` asks for; empty: nothing."""

    time: str = "00:30:00"
    """A Slurm job's time limit."""

    records: str = ""
    """The folder of recorded results; relative to the program's folder."""

    minimum_effect: float = Field(default=0.02, ge=0, le=1)
    """A rewrite counts as faster when it is so by at least this share, and its interval above 1 (0 to 1)."""

    confidence: float = Field(default=0.95, ge=0.5, lt=1)
    """Level of the interval of a speed-up (0 to 1)."""

    precision: float = Field(default=0.01, gt=0, le=1)
    """Timing ends when the interval is narrower than this share of the speed-up on each side (0 to 1)."""

    minimum_pairs: int = Field(default=7, ge=3, le=1000)
    """At least this many pairs of runs, of the original and the candidate in turn, are timed."""

    maximum_pairs: int = Field(default=40, ge=3, le=1000)
    """At most this many pairs of runs are timed on one input."""

    timing_seconds: float = Field(default=120.0, gt=0)
    """After this time no further pair is begun, once the least number is reached (seconds for one input)."""

    time_inputs: Literal["one", "all"] = "one"
    """Time the input that decides (``time_input`` of `[target]`), or all: then it is said which are won, tied, lost."""

    any_slower: Literal["tell", "reject"] = "tell"
    """What a rewrite is worth that is faster on the input that decides and slower on another that was timed."""

    reprofile: bool = False
    """Profile both versions again, to see whether the cited findings moved as they imply; needs ncu."""

    offer: Literal["proven", "built"] = "proven"
    """Which rewrites an editor may offer: proven ones only, or, marked as not proven, also those that merely build."""


class Corpus(Section):
    """The record of every attempt in your own data folder (`OPTIMAS_DATA_DIR`). Nothing of it leaves this machine."""

    enable: bool = True
    """Keep attempts, and use past ones in prompts, rankings and explanations."""

    cases: int = Field(default=3, ge=0, le=10)
    """At most this many past attempts are shown in a prompt."""

    limit_mb: int = Field(default=512, ge=64)
    """Over this size the oldest attempts that were not proven are dropped (MB); proven ones never are."""


class Jobs(Section):
    """Rewrites that an editor asks for: each is a process of its own."""

    at_once: int = Field(default=1, ge=1, le=16)
    """So many run at once, the others wait; more than one disturbs the timing of proofs on the same GPU."""

    deadline_seconds: float = Field(default=3600.0, gt=0)
    """A job that takes longer is ended (seconds, without those spent waiting for an answer)."""

    build: bool = True
    """Build candidates with the program's own commands, after these were accepted for the folder."""

    prove: bool = True
    """Prove candidates that build, as `prove` says where."""

    offer: Literal["command", "edit"] = "command"
    """How a rewrite is applied: by a command, after which the server checks the text, or by an edit in the action."""

    confirm: bool = False
    """Have the editor ask before it applies a rewrite, where it can (with ``offer`` as ``command``)."""


class Search(Section):
    """How much is tried for one rewrite, and when the search ends."""

    candidates: int = Field(default=3, ge=1, le=50)
    """So many of the catalogue's candidates are compared by short proofs before the best is proven; 1: the first that
    is proven is taken. For a model it is `rewrite.samples`."""

    finals: int = Field(default=3, ge=1, le=20)
    """Whole proofs made at most of those compared, best first, until one is proven."""

    budget_seconds: float = Field(default=900.0, ge=0)
    """After this time no further candidate and no further round is begun; 0: no limit (seconds)."""

    rounds: int = Field(default=1, ge=1, le=20)
    """Rounds at most; each further one starts from the last winner and its new profile, which needs ncu."""

    near_ceiling: float = Field(default=0.9, gt=0, le=1)
    """No further round when the winner reaches this share of what the roofline allows for its work (0 to 1)."""


class Settings(Section):
    """All settings of the server and of ``optimas analyze``."""

    hot_kernels: HotKernels = HotKernels()
    lines: Lines = Lines()
    diagnostics: Diagnostics = Diagnostics()
    inlay_hints: InlayHints = InlayHints()
    code_lens: CodeLens = CodeLens()
    profiles: Profiles = Profiles()
    rewrite: Rewrite = Rewrite()
    guard: Guard = Guard()
    prove: Prove = Prove()
    search: Search = Search()
    corpus: Corpus = Corpus()
    jobs: Jobs = Jobs()
    path_maps: tuple[PathMap, ...] = ()
    """Rules from profiled paths to paths here; the longest matching prefix wins."""
