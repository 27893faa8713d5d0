"""``campaign.toml``: the programs, who proposes, where it is proven, the design that crosses them, and the engine."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from optimas_lsp.config import FILE_NAME, ExecutorName, Settings, from_toml, load_toml, parse
from optimas_lsp.errors import ConfigError
from optimas_lsp.profile.model import Frozen
from optimas_lsp.prove.target import Target, parse_target, regular_expression
from optimas_lsp.rewrite.subsets import SEVEN, parse_subset

MANUAL = "see docs/campaign.md for every key"

MONTH_S = 30 * 86_400

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=60)]


def _subset(text: str) -> str:
    try:
        return parse_subset(text).name
    except ConfigError as error:
        raise ValueError(error.sentence()) from None


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    """Each value once: what is named twice would be the same experiment twice."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"'{value}' is named twice")
    return values


def _not_set(*names: str) -> AfterValidator:
    """Settings without those that are keys of the entry itself."""

    def check(settings: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if name in settings:
                raise ValueError(f"'{name}' is a key of its own: write it beside 'settings'")
        return settings

    return AfterValidator(check)


def _counted(provider: dict[str, Any]) -> dict[str, Any]:
    """A provider whose numbers of nodes, which say how many workers there are, are numbers."""
    for name in ("max_blocks", "nodes_per_block"):
        value: object = provider.get(name, 1)
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"'{name}' has to be a whole number from 1, not {value!r}")
    return provider


Names = Annotated[tuple[str, ...], AfterValidator(_once)]


class ProgramEntry(Frozen):
    """``[[program]]``: paths are relative to the campaign's file; ``kernels`` are regular expressions.

    Without ``kernels`` the costliest kernel of ``source``; without ``inputs`` those of the design that the program has.
    """

    name: Name
    folder: str
    source: str
    profile: str
    kernels: Annotated[tuple[Annotated[str, AfterValidator(regular_expression)], ...], AfterValidator(_once)] = Field(
        default=("",), min_length=1
    )
    inputs: Names = ()


class BackendEntry(Frozen):
    """``[[backend]]``: who proposes, but no person. ``settings`` are those of ``[rewrite]``; 0 is no limit."""

    name: Name
    backend: Literal["catalogue", "openai", "gemini", "ollama"]
    model: str = ""
    concurrent: int = Field(default=0, ge=0, description="experiments that use it at once, at most")
    requests_per_minute: float = Field(default=0, ge=0)
    settings: Annotated[dict[str, Any], _not_set("backend", "model")] = Field(default={})


class DeviceEntry(Frozen):
    """``[[device]]``: where it is proven. ``settings`` are those of ``[prove]``."""

    name: Name = "local"
    executor: ExecutorName = "local"
    settings: Annotated[dict[str, Any], _not_set("executor")] = Field(default={})


class Crossing(Frozen):
    """``[design]``: what every program, kernel, backend and device is combined with."""

    evidence: Annotated[tuple[Annotated[str, AfterValidator(_subset)], ...], AfterValidator(_once)] = Field(
        default=SEVEN, min_length=1
    )
    inputs: Names = Field(default=(), description="empty: each program's timed input only")
    repetitions: int = Field(default=1, ge=1, le=1000)
    past: Literal["ignore", "others", "use"] = Field(
        default="ignore", description="what past attempts may give: nothing, those on other kernels, or all"
    )
    build: bool = True
    prove: bool = True


class EngineEntry(Frozen):
    """``[engine]``: how Parsl runs it. ``workers`` are threads, or processes on a node; without a GPU each.

    ``provider`` and ``options`` go to Parsl's provider and HighThroughputExecutor as they are; ``provider.kind`` is
    the provider's class, ``provider.launcher`` the launcher's.
    """

    kind: Literal["threads", "htex"] = "threads"
    workers: int = Field(default=2, ge=1, le=1024)
    gpus: tuple[str, ...] = Field(default=(), description="of a node, as nvidia-smi names them: numbers or UUIDs")
    workers_per_gpu: int = Field(default=1, ge=1, le=16)
    retries: int = Field(default=2, ge=0, le=20, description="for experiments whose process or node was lost")
    outstanding: int = Field(default=0, ge=0, description="experiments handed to Parsl at once; 0: twice its workers")
    time_limit_s: float = Field(default=3600, gt=0, le=MONTH_S, description="an experiment that takes longer is ended")
    provider: Annotated[dict[str, Any], AfterValidator(_counted)] = Field(default={})
    options: dict[str, Any] = Field(default={})


class Campaign(Frozen):
    """The whole file. ``results`` is a folder, relative to the file."""

    name: Name
    results: str = ""
    corpus: bool = Field(default=True, description="keep every attempt in the corpus of the user who runs it, too")
    program: tuple[ProgramEntry, ...] = Field(min_length=1)
    backend: tuple[BackendEntry, ...] = (BackendEntry(name="catalogue", backend="catalogue"),)
    device: tuple[DeviceEntry, ...] = (DeviceEntry(),)
    design: Crossing = Crossing()
    engine: EngineEntry = EngineEntry()


class Program(Frozen):
    """A program of the campaign with its paths made absolute, its ``[target]`` and its own settings."""

    entry: ProgramEntry
    folder: Path
    source: Path
    profile: Path
    target: Target | None
    settings: Settings

    def inputs(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """The inputs of the design that this program has; empty text: the one its target times."""
        if self.target is None:
            return ("",)
        named = self.entry.inputs or tuple(each for each in wanted if each in self.target.inputs)
        return named or (self.target.time_input or next(iter(self.target.inputs)),)


class Loaded(Frozen):
    """A campaign that was read and checked against what it names."""

    file: Path
    campaign: Campaign
    programs: tuple[Program, ...]
    results: Path

    def settings(self, program: Program, backend: BackendEntry, device: DeviceEntry) -> Settings:
        """The settings of an experiment: the program's own, under the backend's and the device's.

        Raises ConfigError that names the table.
        """
        rewrite = {**backend.settings, "backend": backend.backend, "model": backend.model}
        prove = {**device.settings, "executor": device.executor}
        if prove.get("records"):
            records = (self.file.parent / str(prove["records"])).absolute()
            if device.executor == "recorded" and not records.exists():
                raise ConfigError(
                    f"[[device]] '{device.name}': 'records' names {records}, which does not exist",
                    where=self.file,
                    remedy="paths are relative to the campaign's file",
                )
            prove["records"] = str(records)
        where = f"{self.file}, backend '{backend.name}', device '{device.name}'"
        corpus = {"enable": self.campaign.corpus}
        return parse({"rewrite": rewrite, "prove": prove, "corpus": corpus}, where=where, base=program.settings)


def read(file: Path) -> Loaded:
    """The campaign in ``file``; raises ConfigError that names the file, the key and what to do."""
    if not file.is_file():
        raise ConfigError("there is no such file", where=file, remedy="give a campaign.toml; " + MANUAL)
    table = load_toml(file)
    try:
        campaign = Campaign.model_validate(table)
    except ValidationError as error:
        words = "; ".join(_words(item, table) for item in cast("list[dict[str, Any]]", error.errors()))
        raise ConfigError(words, where=file, remedy=MANUAL) from None
    for kind in ("program", "backend", "device"):
        names = [each.name for each in cast("tuple[ProgramEntry, ...]", getattr(campaign, kind))]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(
                f"several [[{kind}]] are named '{twice[0]}'", where=file, remedy="give each a name of its own"
            )
    here = file.absolute().parent
    programs = tuple(_program(each, here, file) for each in campaign.program)
    for wanted in campaign.design.inputs:
        if not any(each.target is not None and wanted in each.target.inputs for each in programs):
            raise ConfigError(
                f"'design.inputs': no program has an input '{wanted}'",
                where=file,
                remedy="name inputs of the programs' [target.inputs]",
            )
    results = Path(os.path.normpath(here / (campaign.results or f"{campaign.name}.campaign")))
    loaded = Loaded(file=file.absolute(), campaign=campaign, programs=programs, results=results)
    for backend in campaign.backend:
        for device in campaign.device:
            loaded.settings(programs[0], backend, device)
    return loaded


def _program(entry: ProgramEntry, here: Path, file: Path) -> Program:
    folder, source, profile = (here / each for each in (entry.folder, entry.source, entry.profile))
    for key, path, there in (
        ("folder", folder, folder.is_dir()),
        ("source", source, source.is_file()),
        ("profile", profile, profile.is_file()),
    ):
        if not there:
            raise ConfigError(
                f"program '{entry.name}': '{key}' names {path}, which does not exist",
                where=file,
                remedy="paths are relative to the campaign's file",
            )
    if not source.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"program '{entry.name}': 'source' is not in its folder", where=file)
    toml = folder / FILE_NAME
    table = load_toml(toml).get("target") if toml.is_file() else None
    target = None if table is None else parse_target(table, where=str(toml))
    for wanted in entry.inputs:
        if target is None or wanted not in target.inputs:
            known = [] if target is None else list(target.inputs)
            near = difflib.get_close_matches(wanted, known, n=1)
            raise ConfigError(
                f"program '{entry.name}': 'inputs' names '{wanted}', which [target.inputs] of {toml} does not have",
                where=file,
                remedy=f"did you mean '{near[0]}'?" if near else f"it has: {', '.join(known) or 'none'}",
            )
    own = from_toml(toml) if toml.is_file() else Settings()
    return Program(entry=entry, folder=folder, source=source, profile=profile, target=target, settings=own)


def _words(item: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    """One finding of the validation, its place in words: ``[[program]] 'sobol', 'kernels'``."""
    where = tuple(cast("tuple[str | int, ...]", item["loc"]))
    place, rest = _place(where, table)
    if item["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(where[-1]), _known(where[:-1]), n=1, cutoff=0.5)
        return f"{place}unknown key '{rest}'" + (f" (did you mean '{near[0]}'?)" if near else "")
    if item["type"] == "missing":
        return f"{place}'{rest}' is missing"
    if item["type"] == "value_error":
        return f"{place}'{rest}': {str(item['msg']).removeprefix('Value error, ')}"
    return f"{place}'{rest}': {item['msg']} (found {item['input']!r})"


def _place(where: tuple[str | int, ...], table: Mapping[str, Any]) -> tuple[str, str]:
    if len(where) > 1 and isinstance(where[1], int):
        entries = cast("list[object]", table[str(where[0])])
        entry = entries[where[1]]
        name = cast("dict[str, Any]", entry).get("name") if isinstance(entry, dict) else None
        label = f"'{name}'" if name else f"number {where[1] + 1}"
        return f"[[{where[0]}]] {label}: ", ".".join(str(part) for part in where[2:]) or str(where[0])
    return "", ".".join(str(part) for part in where)


def _known(where: tuple[str | int, ...]) -> list[str]:
    kind: object = Campaign
    for part in where:
        if isinstance(part, str) and isinstance(kind, type) and issubclass(kind, BaseModel):
            annotation = kind.model_fields[part].annotation if part in kind.model_fields else None
            kind = next((each for each in get_args(annotation) if isinstance(each, type)), annotation)
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []
