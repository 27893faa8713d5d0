"""One cell of the matrix: its axes, the request that it is, and the key of its content."""

from __future__ import annotations

import functools
import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.campaign.design import Program
from optimas_lsp.config import FILE_NAME, Settings, load_toml
from optimas_lsp.course.request import Request
from optimas_lsp.errors import OptimasError
from optimas_lsp.prove.bundle import snapshot
from optimas_lsp.prove.key import WHAT
from optimas_lsp.prove.target import REPORTS, Target, parse_target

SCHEMA = "optimas.experiment/1"

_UNESSENTIAL = ("price_input", "price_output", "timeout_seconds", "retries")
"""Settings of ``[rewrite]`` that cannot change an outcome, so that changing them repeats nothing."""

_WHERE = ("executor", "host", "ssh_options", "partition", "account", "gpus", "time", "records", "offer")
"""Settings of ``[prove]`` that say where a proof runs, not what it is."""

_ESSENTIAL = ("hot_kernels", "lines", "guard", "search", "path_maps")
"""Other groups of settings that decide what is asked, how much is tried and what is let pass."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Where an experiment stands in the matrix; every field is a name of the campaign's file."""

    program: str
    kernel: str
    backend: str
    model: str
    evidence: str
    input: str
    repetition: int
    device: str

    def plain(self) -> dict[str, Any]:
        """As data."""
        return asdict(self)

    def words(self) -> str:
        """For a line of progress."""
        parts = [self.program, self.kernel, self.backend, self.evidence, self.input, self.device]
        return " · ".join([each for each in parts if each] + ([f"#{self.repetition}"] if self.repetition > 1 else []))


@dataclass(frozen=True, slots=True)
class Experiment:
    """An ordinary rewrite with its place in the matrix. ``lane`` is the backend whose limits it counts for.

    ``unchanged`` is the digest of what the program without any change depends on, on its device (``unchanged_of``).
    """

    key: str
    axes: Axes
    request: Request
    unchanged: str = ""

    @property
    def lane(self) -> str:
        """The backend's name."""
        return self.axes.backend


def key_of(axes: Axes, content: str, settings: Settings, request: Request) -> str:
    """SHA-256 over the axes, the program's and report's ``content`` and what decides the outcome.

    Where a proof runs is not in it, only the device's name: the same campaign may go on elsewhere. Of settings only
    those that differ from the default are, so that a version of this tool with more settings repeats nothing.
    """
    plain = settings.model_dump(mode="json", exclude_defaults=True)
    rewrite = {name: value for name, value in plain.get("rewrite", {}).items() if name not in _UNESSENTIAL}
    what = {
        "schema": SCHEMA,
        "axes": axes.plain(),
        "content": content,
        "rewrite": rewrite,
        "proof": _proof(plain),
        **{name: plain[name] for name in _ESSENTIAL if name in plain},
        "past": request.past,
        "build": request.build,
        "prove": request.prove,
    }
    return digest(what)


def unchanged_of(content: str, device: str, settings: Settings) -> str:
    """SHA-256 over what decides whether the program builds and runs without any change, on one device."""
    proof = _proof(settings.model_dump(mode="json", exclude_defaults=True))
    return digest({"content": content, "device": device, "proof": proof})


def _proof(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plain.get("prove", {}).items() if name not in _WHERE}


def _file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes; one that several programs share is read once."""
    now = path.stat()
    return _read_digest(path, now.st_mtime_ns, now.st_ctime_ns, now.st_size)


@functools.cache
def _read_digest(path: Path, *_as_it_is: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_of(program: Program, results: Path) -> str:
    """Digest of what the experiments of a program read: its files, how it is built and run, the source, the report.

    The campaign's ``results`` are none of the program's files, also where they lie in its folder.
    """
    return _content(program.folder, program.source, program.profile, program.target, results)


def unchanged_now(request: Request, device: str, results: Path) -> str:
    """``unchanged_of`` of the program as it is now; '' where it cannot be read."""
    folder = request.folder or request.source.parent
    toml = folder / FILE_NAME
    try:
        table = load_toml(toml).get("target") if toml.is_file() else None
        target = None if table is None else parse_target(table, where=str(toml))
        content = _content(folder, request.source, request.profile, target, results)
    except (OptimasError, OSError):
        return ""
    return unchanged_of(content, device, Settings.model_validate(request.settings))


def _content(folder: Path, source: Path, report: Path, target: Target | None, results: Path) -> str:
    exclude = REPORTS if target is None else target.exclude
    if results.absolute().is_relative_to(folder.absolute()):
        own = results.absolute().relative_to(folder.absolute()).as_posix()
        exclude = (*exclude, f"{glob.escape(own)}/*")
    with tempfile.TemporaryDirectory(prefix="optimas-campaign-") as copy:
        names = snapshot(folder, Path(copy) / "tree", exclude)
    files = {name: _stamp(folder / name) for name in sorted(names)}
    plain: Mapping[str, Any] = {} if target is None else target.model_dump(mode="json")
    return digest(
        {
            "files": files,
            "target": {name: plain.get(name) for name in (*WHAT, "sanitize_input", "time_limit_s")},
            "source": source.absolute().relative_to(folder.absolute()).as_posix(),
            "report": _file_digest(report),
        }
    )


def _stamp(path: Path) -> str:
    return _file_digest(path) + ("x" if os.access(path, os.X_OK) else "-")


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of data as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
