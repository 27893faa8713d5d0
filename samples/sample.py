"""One sample folder: build its copy at the neutral place, run it, profile it."""

from __future__ import annotations

import json
import re
import shutil
import time
import tomllib
from pathlib import Path
from typing import Any

from machine import HERE, MeasureError, find_leaks, now, run, say, sha256
from plans import Plan

TIMING_ROUNDS = 5


class Sample:
    """A sample folder and its copy at the neutral place."""

    def __init__(self, name: str, room: Path, env: dict[str, str]) -> None:
        self.name = name
        self.origin = HERE / name
        self.copy = room / name
        self.env = env
        self.target: dict[str, Any] = tomllib.loads((self.origin / "optimas.toml").read_text(encoding="utf-8"))[
            "target"
        ]
        self.has_variants = self.origin.parent == HERE and bool(self.target["build"])
        self.sources = sorted(
            [p.name for p in self.origin.iterdir() if p.suffix in {".cu", ".cuh", ".py"}]
            + [f"../{p.name}" for p in self.origin.parent.glob("*.cuh")]
        )

    def stage(self) -> None:
        """Copy the sources to the neutral place."""
        self.copy.mkdir(parents=True, exist_ok=True)
        for source in self.sources:
            shutil.copyfile(self.origin / source, self.copy / source)

    def build(self) -> None:
        """Build the copy, also without line information where that is measured."""
        for command in self.target["build"]:
            (self.copy / "build").mkdir(exist_ok=True)
            run(command, self.copy, self.env, 300)
            if self.has_variants:
                (self.copy / "build-plain").mkdir(exist_ok=True)
                run(without_lineinfo(command), self.copy, self.env, 300)
        if any(source.endswith(".py") for source in self.sources):
            self.warm_triton()

    def warm_triton(self) -> None:
        """Let Triton compile into its cache while its library lies at a place that then vanishes.

        The line table names the library's files where they lay, and ncu cannot import their text.
        """
        find = "import pathlib, triton; print(pathlib.Path(triton.__file__).parent)"
        library = run(["python3", "-c", find], self.copy, self.env, 120).splitlines()[-1]
        site = self.copy.parent / "site-packages"
        site.mkdir(exist_ok=True)
        link = site / "triton"
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        try:
            env = self.env | {"PYTHONPATH": str(site)}
            run(self.target["inputs"]["default"], self.copy, env, self.target["time_limit_s"])
        finally:
            link.unlink()

    def execute(self, command: list[str]) -> dict[str, Any]:
        """Run the program once and return its checksum, its times and the wall time."""
        begin = time.perf_counter()
        printed = run(command, self.copy, self.env, self.target["time_limit_s"])
        wall_s = time.perf_counter() - begin
        checksum = re.search(r"^checksum: (\S+)$", printed, re.MULTILINE)
        if checksum is None or "self-check: passed" not in printed.splitlines():
            raise MeasureError(f"{self.name}: {' '.join(command)} did not pass its self-check:\n{printed}")
        times = dict(re.findall(r"^time (.+): ([0-9.]+) us", printed, re.MULTILINE))
        return {
            "command": command,
            "checksum": checksum[1],
            "kernel_us": {kernel: float(us) for kernel, us in times.items()},
            "wall_s": round(wall_s, 3),
        }

    def inputs(self) -> dict[str, Any]:
        """Run every input twice; the checksum must be the same both times."""
        results: dict[str, Any] = {}
        for name, command in self.target["inputs"].items():
            first, second = self.execute(command), self.execute(command)
            if first["checksum"] != second["checksum"]:
                raise MeasureError(f"{self.name}: the checksum of input {name} differs from run to run")
            results[name] = second
        return results

    def lineinfo_cost(self) -> dict[str, Any] | None:
        """Time the default input with and without -lineinfo, in turns; microseconds a kernel."""
        if not self.has_variants:
            return None
        command = self.target["inputs"]["default"]
        plain = [command[0].replace("build/", "build-plain/"), *command[1:]]
        runs: dict[str, list[dict[str, float]]] = {"with": [], "without": []}
        for _ in range(TIMING_ROUNDS):
            runs["with"].append(self.execute(command)["kernel_us"])
            runs["without"].append(self.execute(plain)["kernel_us"])
        return {
            kernel: {side: [times[kernel] for times in rows] for side, rows in runs.items()}
            for kernel in runs["with"][0]
        }

    def profile(self, plan: Plan, hide: list[str]) -> dict[str, Any]:
        """Measure one report and return how; the report lies beside the sources afterwards."""
        program = list(plan.input or self.target["inputs"]["default"])
        if not plan.lineinfo:
            program[0] = program[0].replace("build/", "build-plain/")
        report = self.copy / plan.measured
        command: list[str] = []
        for launches in plan.launches:
            command = ["ncu", "--clock-control", "none", *plan.options]
            command += ["--import-source", "yes"] if plan.import_source else []
            command += ["-k", f"regex:{plan.kernels}"]
            command += ["--launch-skip", str(plan.skip)] if plan.skip else []
            command += ["-c", str(launches), "-f", "-o", plan.measured, *program]
            report.unlink(missing_ok=True)
            printed = run([*hide, *command], self.copy, self.env, 400)
            if not report.is_file():
                raise MeasureError(f"{self.name}: ncu wrote no {plan.measured}:\n{printed}")
            if "self-check: passed" not in printed.splitlines():
                raise MeasureError(f"{self.name}: the program failed under ncu:\n{printed}")
            if report.stat().st_size <= plan.limit_bytes or plan.file != plan.measured:
                break
            say(f"  {plan.file}: {report.stat().st_size} bytes with {launches} launches: too large")
        leaks = find_leaks(report)
        if leaks:
            raise MeasureError(f"{self.name}: {plan.file} names this machine: {', '.join(leaks)}")
        return {
            "file": plan.measured,
            "sha256": sha256(report),
            "bytes": report.stat().st_size,
            "date": now(),
            "command": command,
            "lineinfo": plan.lineinfo,
            "imports_source": plan.import_source,
        }

    def recorded(self) -> dict[str, Any]:
        """Return what `provenance.json` says, where it is about the sources as they are now."""
        path = self.origin / "provenance.json"
        if not path.is_file():
            return {}
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found if found["sources"] == self.hashes() else {}

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every source file."""
        return {name: sha256(self.origin / name) for name in self.sources}

    def write(self, provenance: dict[str, Any]) -> None:
        """Write `provenance.json`."""
        text = json.dumps(provenance, indent=1) + "\n"
        (self.origin / "provenance.json").write_text(text, encoding="utf-8")


def without_lineinfo(command: list[str]) -> list[str]:
    """Return a build command that leaves line information out and writes to build-plain."""
    return [part.replace("build/", "build-plain/") for part in command if part != "-lineinfo"]
