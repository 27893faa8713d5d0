"""The job as the runner sees it: what job.json says, where things are, and the state that gates share."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from . import process, tools, witness

SCHEMA = "optimas.job/1"
SIDES = ("baseline", "candidate")
TIMING = {"min_pairs": 7, "max_pairs": 40, "precision": 0.01, "min_effect": 0.02, "budget_s": 120.0, "level": 0.95}


class JobError(Exception):
    """job.json or its folder is not usable; the message says why."""


class Job:
    """One proof job on this machine. ``cancelled`` is looked at between steps."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        try:
            self.data = json.loads((self.folder / "job.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise JobError(f"job.json cannot be read: {error}") from None
        if self.data.get("schema") != SCHEMA:
            raise JobError("job.json is of schema {!r}, this runner reads {}".format(self.data.get("schema"), SCHEMA))
        target = self.data["target"]
        self.inputs = target["inputs"]
        self.outputs = target.get("outputs", ["stdout"])
        self.ignore = target.get("ignore", [])
        self.tolerance = target.get("tolerance")
        self.kernels = self.data.get("kernels", [])
        self.work = self.folder / "work"
        self.logs = self.folder / "logs"
        self.timing = dict(TIMING, **self.data.get("timing", {}))
        limits = self.data.get("limits", {})
        self.run_limits = process.Limits(target.get("time_limit_s", 60.0), **limits)
        self.build_limits = process.Limits(target.get("build_limit_s", 600.0), **limits)
        self.seed = int.from_bytes(os.urandom(8), "big")
        self.gpu = tools.gpu()
        self.nvcc = tools.find("nvcc")
        self.witness_library = None
        self.witness_missing = "there is no GPU here"
        self._runs = {}

    def tree(self, side):
        """The working copy of one side."""
        return self.work / side

    def lay_out(self):
        """Make both working copies; the candidate's gets the patch. What was built before in them is kept."""
        for side in SIDES:
            tree = self.tree(side)
            if not tree.exists():
                partial = tree.with_name(side + ".partial")
                shutil.rmtree(str(partial), ignore_errors=True)
                shutil.copytree(str(self.folder / "tree"), str(partial), symlinks=True)
                if side == "candidate":
                    for name in self.data["files"]:
                        shutil.copyfile(str(self.folder / "patch" / name), str(partial / name))
                os.replace(str(partial), str(tree))
        if self.gpu and self.witness_library is None:
            cache = os.environ.get("OPTIMAS_WITNESS_CACHE") or str(self.work / "witness")
            try:
                self.witness_library = witness.build(self.folder / "witness", cache, self.nvcc)
                self.witness_missing = ""
            except (witness.WitnessUnavailable, OSError) as error:
                self.witness_missing = str(error)

    def environment(self, scratch, extra=None):
        """The environment of one command, with the toolkit's own folder first on the path."""
        environment = process.clean_environment(scratch, extra)
        if self.nvcc:
            environment["PATH"] = str(Path(self.nvcc).parent) + os.pathsep + environment.get("PATH", os.defpath)
        return environment

    def run(self, side, name, label, modes=("launch", "readback", "poison"), poison=0xA5, dump="", prefix=()):
        """Run one side on one input in a fresh folder; returns (Finished, Testimony or None, folder of the run)."""
        key = (side, name, label)
        if key in self._runs:
            return self._runs[key]
        scratch = self.work / "runs" / f"{side}-{name}-{label}"
        shutil.rmtree(str(scratch), ignore_errors=True)
        scratch.mkdir(parents=True)
        extra = {}
        if self.witness_library and modes:
            extra = witness.environment(
                self.witness_library, scratch / "witness", modes, self.kernels, self.seed, poison, dump
            )
        self._remove_outputs(side)
        log = self.logs / f"{side}-{name}"
        command = [*prefix, *self.inputs[name]]
        finished = process.run(command, self.tree(side), self.environment(scratch, extra), self.run_limits, log, label)
        testimony = witness.Testimony(scratch / "witness") if extra else None
        self._keep_outputs(side, scratch / "files")
        self._runs[key] = (finished, testimony, scratch)
        return self._runs[key]

    def forget_runs(self):
        """Drop remembered runs (their folders stay until the job is cleaned)."""
        self._runs.clear()

    def _patterns(self):
        return [pattern for pattern in self.outputs if pattern != "stdout"]

    def _remove_outputs(self, side):
        for pattern in self._patterns():  # an output left by an earlier run must not pass for this one's
            for path in self.tree(side).glob(pattern):
                if path.is_file():
                    path.unlink()

    def _keep_outputs(self, side, destination):
        for pattern in self._patterns():
            for path in self.tree(side).glob(pattern):
                if path.is_file():
                    place = destination / path.relative_to(self.tree(side))
                    place.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(str(path), str(place))

    def clean(self):
        """Remove the scratch of this job; logs and results stay."""
        shutil.rmtree(str(self.work), ignore_errors=True)
