#!/usr/bin/env python3
"""Build, run and profile the sample programs, and write down how it was done.

Every folder that `plans.toml` names is copied to a neutral place, built with the commands of its
`optimas.toml`, run on each of its inputs (the self-check must pass and the checksum must repeat),
and profiled with Nsight Compute. The reports and a `provenance.json` go back into the folder.
What is recorded there already, and still fits the sources, is kept unless --again is given.

Only the standard library is used: this runs where a GPU is, and little else may be there.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCHEMA = "optimas.sample/1"
TIMING_ROUNDS = 5
GPU_FACTS = (
    "name",
    "driver_version",
    "memory.total",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "temperature.gpu",
    "power.draw",
)


class MeasureError(Exception):
    """A step that failed, in a sentence for the person who started the measurement."""


@dataclass(frozen=True)
class Plan:
    """One report to measure, as `plans.toml` describes it."""

    folder: str
    file: str
    kernels: str
    options: tuple[str, ...]
    launches: tuple[int, ...]
    skip: int
    input: tuple[str, ...]
    lineinfo: bool
    import_source: bool
    limit_bytes: int

    @property
    def measured(self) -> str:
        """The file that ncu writes: it knows no compressed form."""
        return self.file.replace(".ncu-repz", ".ncu-rep")


def read_plans(path: Path) -> list[Plan]:
    """Return the plans of `path` in their order."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    plans: list[Plan] = []
    rows = [row | {"folder": folder} for row in data["report"] for folder in row["folders"]]
    for row in rows:
        if "set" in row:
            options = ["--set", row["set"]]
        else:
            names = data["sections"][row["sections"]]
            options = [part for name in names for part in ("--section", name)]
        options += row.get("options", [])
        plans.append(
            Plan(
                folder=row["folder"],
                file=row["file"],
                kernels=row["kernels"],
                options=tuple(options),
                launches=tuple(row["launches"]),
                skip=row.get("skip", 0),
                input=tuple(row.get("input", ())),
                lineinfo=row.get("lineinfo", True),
                import_source=row.get("import_source", True),
                limit_bytes=row.get("limit_kb", 500) * 1000,
            )
        )
    return plans


def run(command: list[str], cwd: Path, env: dict[str, str], limit_s: float) -> str:
    """Run a command and return what it printed; raise with its last lines where it fails."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, timeout=limit_s, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise MeasureError(f"{command[0]} was not found: install it or put it on PATH") from error
    except subprocess.TimeoutExpired as error:
        raise MeasureError(f"{' '.join(command)} took longer than {limit_s:.0f} s") from error
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise MeasureError(f"{' '.join(command)} in {cwd.name} ended with {done.returncode}:\n{tail}")
    return done.stdout


def clean_environment(room: Path) -> dict[str, str]:
    """Return the little environment that every command gets: nothing personal can leak from it."""
    home = room / "home"
    home.mkdir(parents=True, exist_ok=True)
    env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    env |= {"HOME": str(home), "TMPDIR": str(room), "LANG": "C.UTF-8"}
    env |= {"TRITON_CACHE_DIR": str(room / "triton-cache")}
    return env


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def gpu_facts(env: dict[str, str]) -> dict[str, str]:
    """Return what nvidia-smi says about the first GPU at this moment."""
    query = ["nvidia-smi", "--query-gpu=" + ",".join(GPU_FACTS), "--format=csv,noheader"]
    values = run(query, HERE, env, 60).splitlines()[0].split(", ")
    return dict(zip(GPU_FACTS, values, strict=True))


def tool_versions(env: dict[str, str]) -> dict[str, str]:
    """Return the versions of the tools in their own words."""
    versions = {
        "nvcc": run(["nvcc", "--version"], HERE, env, 60).splitlines()[-2].strip(),
        "ncu": run(["ncu", "--version"], HERE, env, 60).splitlines()[-1].strip(),
    }
    probe = "import sys, torch, triton; print(sys.version.split()[0], torch.__version__, triton.__version__)"
    try:
        found = run(["python3", "-c", probe], HERE, env, 120).split()
        versions |= dict(zip(("python", "torch", "triton"), found, strict=True))
    except MeasureError:
        versions["triton"] = "not installed"
    return versions


class Sample:
    """A sample folder and its copy at the neutral place."""

    def __init__(self, name: str, room: Path, env: dict[str, str]) -> None:
        self.name = name
        self.origin = HERE / name
        self.copy = room / name
        self.env = env
        self.target: dict[str, Any] = tomllib.loads(
            (self.origin / "optimas.toml").read_text(encoding="utf-8")
        )["target"]
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


def find_leaks(report: Path) -> list[str]:
    """Return what a report tells about this machine though it should not."""
    data = report.read_bytes()
    names = {"host name": socket.gethostname(), "folder": str(HERE), "home": os.environ.get("HOME", "")}
    return [what for what, text in names.items() if len(text) > 5 and text.encode() in data]


def hiding_prefix(room: Path, env: dict[str, str]) -> list[str]:
    """Return the start of a command line that hides the toolkit's headers from what it runs.

    A kernel that calls atomicAdd inlines a header of the toolkit, and ncu would import its text.
    Needs the right to make a mount namespace; without it the answer is empty.
    """
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise MeasureError("nvcc was not found: install the CUDA toolkit or put it on PATH")
    root = Path(nvcc).resolve().parent.parent
    found = [root / "include", *root.glob("targets/*/include")]
    folders = sorted({str(p.resolve()) for p in found if p.is_dir()})
    empty = room / "empty"
    empty.mkdir(parents=True, exist_ok=True)
    script = " && ".join(f"mount --bind {empty} {folder}" for folder in folders)
    prefix = ["unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh"]
    try:
        run([*prefix, "true"], room, env, 30)
    except MeasureError as error:
        say(f"The toolkit's headers cannot be hidden, so reports may embed them: {error}")
        return []
    return prefix


def say(text: str) -> None:
    """Tell the person what happens, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def now() -> str:
    """Return the date and time, UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def measure_runs(sample: Sample) -> dict[str, Any]:
    """Run the program on every input and time it with and without line information."""
    before = gpu_facts(sample.env)
    inputs = sample.inputs()
    cost = sample.lineinfo_cost()
    built = sorted((sample.copy / "build").glob("*")) if sample.target["build"] else []
    return {
        "date": now(),
        "gpu": {"before": before, "after": gpu_facts(sample.env)},
        "binaries": {f"build/{p.name}": sha256(p) for p in built},
        "inputs": inputs,
        "lineinfo_us": cost,
    }


def measure(sample: Sample, plans: list[Plan], hide: list[str], tools: dict[str, str], again: bool) -> None:
    """Measure what is not recorded yet of one sample and write its provenance."""
    say(f"{sample.name}")
    known = {} if again else sample.recorded()
    runs = known.get("runs") or measure_runs(sample)
    kept = {report["file"]: report for report in known.get("reports", [])}
    reports: list[dict[str, Any]] = []
    for plan in plans:
        if plan.file in kept:
            reports.append(kept[plan.file])
            continue
        begin = time.perf_counter()
        report = sample.profile(plan, hide)
        report["gpu"] = gpu_facts(sample.env)
        shutil.copyfile(sample.copy / plan.measured, sample.origin / plan.measured)
        reports.append(report)
        say(f"  {plan.file}: {report['bytes']} bytes in {time.perf_counter() - begin:.1f} s")
    sample.write(
        {
            "schema": SCHEMA,
            "tools": tools,
            "sources": sample.hashes(),
            "build": sample.target["build"],
            "runs": runs,
            "reports": reports,
        }
    )


def pack(sample: Sample, plans: list[Plan]) -> None:
    """Compress the reports that the plans want as .ncu-repz: Zstandard over the .ncu-rep."""
    provenance = sample.recorded()
    for report in provenance.get("reports", []):
        plan = next((p for p in plans if p.measured == report["file"] != p.file), None)
        if plan is None:
            continue
        plain = sample.origin / plan.measured
        run(["zstd", "-19", "-q", "-f", "--rm", plan.measured, "-o", plan.file], sample.origin, dict(os.environ), 900)
        packed = sample.origin / plan.file
        report["unpacked"] = {"file": plain.name, "sha256": report["sha256"], "bytes": report["bytes"]}
        report |= {"file": plan.file, "sha256": sha256(packed), "bytes": packed.stat().st_size}
        if report["bytes"] > plan.limit_bytes:
            raise MeasureError(f"{sample.name}: {plan.file} has {report['bytes']} bytes, the plan allows {plan.limit_bytes}")
    if provenance:
        sample.write(provenance)


def main(argv: list[str] | None = None) -> int:
    """Measure the samples that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", help="sample folders to measure (default: all of the plans)")
    parser.add_argument("--plans", type=Path, default=HERE / "plans.toml", help="which reports, and how")
    parser.add_argument("--room", type=Path, default=Path("/tmp/run"), help="the neutral place (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure also what is recorded already")
    parser.add_argument("--pack", action="store_true", help="only compress the reports measured before (needs zstd)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="builds at a time")
    arguments = parser.parse_args(argv)

    plans = read_plans(arguments.plans)
    names = arguments.folders or list(dict.fromkeys(plan.folder for plan in plans))
    unknown = sorted(set(names) - {plan.folder for plan in plans})
    if unknown:
        say(f"No plan in {arguments.plans.name} for: {', '.join(unknown)}")
        return 2
    env = clean_environment(arguments.room)
    failures = 0
    try:
        samples = [Sample(name, arguments.room, env) for name in names]
        if arguments.pack:
            for sample in samples:
                pack(sample, [p for p in plans if p.folder == sample.name])
            return 0
        tools = tool_versions(env)
        hide = hiding_prefix(arguments.room, env)
        for sample in samples:
            sample.stage()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            builds = [pool.submit(sample.build) for sample in samples]
    except MeasureError as error:
        say(str(error))
        return 1
    for sample, build in zip(samples, builds, strict=True):
        try:
            build.result()
            measure(sample, [p for p in plans if p.folder == sample.name], hide, tools, arguments.again)
        except MeasureError as error:
            failures += 1
            say(f"FAILED {sample.name}: {error}")
    say(f"{len(samples) - failures} of {len(samples)} samples measured")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
