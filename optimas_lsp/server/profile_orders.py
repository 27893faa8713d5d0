"""Profiling a kernel again: the job where this machine can do it, else the commands for a machine that can."""

from __future__ import annotations

import datetime
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server.job import Job
from optimas_lsp.server.job_board import now
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.orders import Target, new_id, saved_text
from optimas_lsp.server.rewrites import Order
from optimas_lsp.server.wording import Markup, one_line

if TYPE_CHECKING:
    from optimas_lsp.config import Settings

MODULE = "optimas_lsp.server.profile_run"
MARKDOWN = Markup(markdown=True)


@dataclass(frozen=True)
class Plan:
    """What profiling takes: ``hindrance`` says why it cannot be done here; empty where it can."""

    folder: Path
    build: tuple[tuple[str, ...], ...]
    program: tuple[str, ...]
    kernel: str
    ncu: str
    report: Path
    hindrance: str

    def text(self, name: str) -> str:
        """The commands in words, in Markdown."""
        from optimas_lsp.profile.ncu import Filter, command

        relative = self.report.relative_to(self.folder)
        ncu = command("ncu", self.program, relative, Filter(kernels=self.kernel))
        ours = ["optimas", "profile", "--kernel", self.kernel, "-o", str(relative.with_suffix("")), "--", *self.program]
        lines = [f"# Profile {MARKDOWN.escape(name)}", "", f"Not done here: {MARKDOWN.escape(self.hindrance)}.", ""]
        lines += [f"On a machine with an NVIDIA GPU and Nsight Compute, in a copy of `{self.folder}`:", ""]
        lines += [
            f"    {one_line(shlex.join(each))}" for each in (*self.build, ["mkdir", "-p", str(relative.parent)], ours)
        ]
        lines += [
            "",
            "or, where optimas is not installed, instead of the last line:",
            "",
            f"    {one_line(shlex.join(ncu))}",
            "",
        ]
        lines += [f"Then put the report into `{self.report.parent}`: it is noticed and read.", ""]
        return "\n".join(lines)


def plan(about: Target) -> Plan:
    """How the kernel can be profiled; blocks. Raises JobError for a program nobody said how to run, NotSavedError."""
    from optimas_lsp.course.program import home_of
    from optimas_lsp.profile.collect import find_ncu
    from optimas_lsp.prove.runner.tools import gpu
    from optimas_lsp.prove.target import read_target

    saved_text(about.path, about.document)
    folder = home_of(about.path)
    toml = folder / "optimas.toml"
    if not toml.is_file():
        raise JobError("nothing says how this program is built and run", where=folder,
                       remedy="write an optimas.toml with [target], see docs/proof.md")  # fmt: skip
    target = read_target(toml)
    program = target.inputs.get(target.time_input or "default") or next(iter(target.inputs.values()))
    ncu, hindrance = "", ""
    try:
        ncu = find_ncu()
        if gpu() is None:
            hindrance = "this machine has no NVIDIA GPU"
    except OptimasError as error:
        hindrance = error.what
    stamp = datetime.datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    named = re.sub(r"[^\w-]+", "_", about.kernel.base_name)[:60]  # a report may call its kernels anything
    report = folder / "profiles" / f"{named}-{stamp}.ncu-rep"
    kernel = f"^{re.escape(about.kernel.base_name)}$"
    return Plan(folder, target.build, program, kernel, ncu, report, hindrance)


def profile_order(about: Target, wanted: Plan, settings: Settings) -> Order:
    """The job that carries out ``wanted``."""
    request: dict[str, Any] = {
        "folder": str(wanted.folder),
        "build": wanted.build,
        "program": wanted.program,
        "kernel": wanted.kernel,
        "ncu": wanted.ncu,
        "report": str(wanted.report),
    }
    job = Job(
        id=new_id(),
        kind="profile",
        title=one_line(f"Profile {about.kernel.base_name}"),
        path=about.path,
        uri=about.uri,
        folder=about.folder,
        report=about.report.path,
        kernel=one_line(about.kernel.base_name),
        mangled=about.kernel.mangled,
        created=now(),
    )
    from optimas_lsp.source.text import SourceText

    return Order(job, MODULE, json.dumps(request).encode(), settings.jobs.deadline_seconds, SourceText.of(""))
