"""The job as the runner sees it: what job.json says, where things are, and the state that gates share."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, List, Sequence, Tuple

from . import process, tools, witness
from .trees import State, Tree, TreeChangedError, file_state

SCHEMA = "optimas.job/1"
SIDES = ("baseline", "candidate")
TIMING = {"min_pairs": 7, "max_pairs": 40, "precision": 0.01, "min_effect": 0.02, "budget_s": 120.0, "level": 0.95}
"""How times are taken. A job may also say ``race`` ({"best": times shorter that others reached for certain, or null}: a
candidate that is clearly worse stops early and passes nothing), ``any_slower`` ("tell" or "reject") and ``every_input``
(time all of ``time_inputs``, whatever the first ones say)."""


Run = Tuple[process.Finished, witness.Testimony, Path]


class JobError(Exception):
    """job.json or its folder is not usable; the message says why."""


class Job:
    """One proof job on this machine. ``cancelled`` is looked at between steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder).resolve()
        try:
            self.data: dict[str, Any] = json.loads((self.folder / "job.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise JobError(f"job.json cannot be read: {error}") from None
        if self.data.get("schema") != SCHEMA:
            raise JobError("job.json is of schema {!r}, this runner reads {}".format(self.data.get("schema"), SCHEMA))
        target: dict[str, Any] = self.data["target"]
        self.inputs: dict[str, list[str]] = target["inputs"]
        self.outputs: list[str] = target.get("outputs", ["stdout"])
        self.ignore: list[str] = target.get("ignore", [])
        self.tolerance: dict[str, float] | None = target.get("tolerance")
        self.kernels: list[str] = self.data.get("kernels", [])
        self.work = self.folder / "work"
        self.logs = self.folder / "logs"
        self.timing: dict[str, Any] = dict(TIMING, **self.data.get("timing", {}))
        limits: dict[str, Any] = self.data.get("limits", {})
        self.run_limits = process.Limits(target.get("time_limit_s", 60.0), **limits)
        self.build_limits = process.Limits(target.get("build_limit_s", 600.0), **limits)
        self.seed = int.from_bytes(os.urandom(8), "big")
        self.gpu = tools.gpu()
        self.gpu_uuid = self.gpu["uuid"] if self.gpu else ""
        self.nvcc = tools.find("nvcc")
        self.witness_library: Path | None = None
        self.witness_missing = "there is no GPU here"
        self.witness_changed = ""  # why the witness that proofs share was not taken
        self.trees: dict[str, Tree] = {}
        self.last = ""  # the side that ran last
        self._kept: dict[tuple[str, str, str], tuple[State | None, Tree]] = {}
        self._runs: dict[tuple[str, str, str], Run] = {}

    def tree(self, side: str) -> Path:
        """The working copy of one side."""
        return self.work / side

    def lay_out(self, built: dict[str, str] | None = None) -> None:
        """Make both working copies; the candidate's gets the patch.

        ``built`` are the digests of copies that were built before; such copies are kept, if they are still the same.
        Raises TreeChangedError when they are not.
        """
        for side in SIDES:
            tree = self.tree(side)
            if built:
                self.trees[side] = Tree(tree, self._patterns())
                if not tree.is_dir() or self.trees[side].digest() != built[side]:
                    raise TreeChangedError(f"the {side}'s folder changed while the proof was interrupted")
            else:
                self._copy(side)
        if self.gpu and self.witness_library is None:
            self._take_witness()

    def _take_witness(self) -> None:
        """The witness that whoever started this runner built, if it is still that; else one of this job's own."""
        own, cache = self.work / "witness", os.environ.get(witness.CACHE)
        process.remove(own)  # runs of a proof that was interrupted could write there
        self.witness_missing = ""
        if not cache:
            self.witness_library, self.witness_changed = witness.shared(own)
        if self.witness_library is None:
            try:
                self.witness_library = witness.build(self.folder / "witness", Path(cache or own), self.nvcc)
            except (witness.WitnessUnavailableError, OSError) as error:
                self.witness_missing = str(error)

    def _copy(self, side: str) -> None:
        tree = self.tree(side)
        shutil.rmtree(str(tree), ignore_errors=True)
        partial = tree.with_name(side + ".partial")
        shutil.rmtree(str(partial), ignore_errors=True)
        shutil.copytree(str(self.folder / "tree"), str(partial), symlinks=True)
        if side == "candidate":
            for name in self.data["files"]:
                (partial / name).unlink()  # it may be a link: never write to what it leads to
                shutil.copyfile(str(self.folder / "patch" / name), str(partial / name))
        partial.replace(tree)

    def leave_alone(self, side: str) -> None:
        """Make one side's copy anew, and remove the other's with what its runs left: nothing follows for that one."""
        for other in SIDES:
            if other != side:
                shutil.rmtree(str(self.tree(other)), ignore_errors=True)
                for left in (self.work / "runs").glob(f"{other}-*"):
                    shutil.rmtree(str(left), ignore_errors=True)
        self._copy(side)

    def seal_trees(self) -> dict[str, str]:
        """Remember both working copies as they were built; from now on no run may change them. Returns digests."""
        self.trees = {side: Tree(self.tree(side), self._patterns()) for side in SIDES}
        return {side: tree.digest() for side, tree in self.trees.items()}

    def environment(self, scratch: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
        """The environment of one command, with the toolkit's own folder first on the path."""
        environment = process.clean_environment(scratch, extra)
        if self.nvcc:
            environment["PATH"] = str(Path(self.nvcc).parent) + os.pathsep + environment.get("PATH", os.defpath)
        return environment

    def run(
        self,
        side: str,
        name: str,
        label: str,
        modes: Sequence[str] = ("launch", "readback", "poison"),
        poison: int = 0xA5,
        dump: str = "",
    ) -> Run:
        """Run one side on one input in a fresh folder; returns (Finished, Testimony or None, folder of the run)."""
        key = (side, name, label)
        if key in self._runs:
            self._untouched(key)
            return self._runs[key]
        scratch = self.work / "runs" / f"{side}-{name}-{label}"
        shutil.rmtree(str(scratch), ignore_errors=True)
        scratch.mkdir(parents=True)
        extra: dict[str, str] = {}
        if self.witness_library and modes:
            extra = witness.environment(
                self.witness_library, scratch / "witness", modes, self.kernels, self.seed, poison, dump
            )
        self._make_clean(side)
        log = self.logs / f"{side}-{name}"
        command = self.inputs[name]
        what = "run" if not extra else "timed run" if tuple(modes) == ("time",) else "witnessed run"
        environment = self.environment(scratch, extra)
        finished = process.run(command, self.tree(side), environment, self.run_limits, log, label, what)
        testimony = witness.Testimony(scratch / "witness" if extra else None)
        self.keep_outputs(side, scratch / "files")
        self._runs[key] = (finished, testimony, scratch)
        self._kept[key] = (file_state(finished.stdout), Tree(scratch / "files", ()))
        return self._runs[key]

    def _untouched(self, key: tuple[str, str, str]) -> None:
        """Raise TreeChangedError when what a run gave was changed by a later one, before it is compared."""
        stdout, files = self._kept[key]
        if file_state(self._runs[key][0].stdout) != stdout or files.changed():
            raise TreeChangedError("a run changed what the {} gave on input {} before".format(*key))

    def restore(self) -> None:
        """Remove what earlier runs left in the working copies; raises TreeChangedError when they changed a file."""
        for side, tree in self.trees.items():
            tree.restore(side)

    def forget_runs(self) -> None:
        """Drop remembered runs (their folders stay until the job is cleaned)."""
        self._runs.clear()

    def _patterns(self) -> list[str]:
        return [pattern for pattern in self.outputs if pattern != "stdout"]

    def fresh(self, side: str, name: str) -> Path:
        """An empty scratch folder for a run under a tool, of a working copy without outputs of earlier runs."""
        scratch = self.work / name
        shutil.rmtree(str(scratch), ignore_errors=True)
        scratch.mkdir(parents=True)
        self._make_clean(side)
        return scratch

    def _make_clean(self, side: str) -> None:
        self.restore()
        for path in self._outputs(side):  # an output left by an earlier run must not pass for this one's
            path.unlink()
        self.last = side

    def _outputs(self, side: str) -> List[Path]:
        """Output files and links of one side, those left out to which a link to another folder leads: not ours."""
        tree = self.tree(side)
        found = {path for pattern in self._patterns() for path in tree.glob(pattern)}
        here = {path for path in found if path.is_symlink() or path.is_file()}
        return sorted(path for path in here if path.parent.resolve() == tree / path.parent.relative_to(tree))

    def keep_outputs(self, side: str, destination: Path) -> None:
        """Move the output files of the last run into ``destination``."""
        for path in self._outputs(side):
            if not path.is_symlink():  # a link could lead to what the other side wrote
                place = destination / path.relative_to(self.tree(side))
                place.parent.mkdir(parents=True, exist_ok=True)
                path.replace(place)

    def clean(self) -> None:
        """Remove the scratch of this job; logs and results stay."""
        shutil.rmtree(str(self.work), ignore_errors=True)
