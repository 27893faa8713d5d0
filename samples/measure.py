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
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from machine import (
    HERE,
    MeasureError,
    clean_environment,
    gpu_facts,
    hiding_prefix,
    now,
    run,
    say,
    sha256,
    tool_versions,
)
from plans import Plan, read_plans
from sample import Sample

SCHEMA = "optimas.sample/1"
NEUTRAL = Path("/tmp/run")  # noqa: S108 - its name goes into every report, so it must be the same everywhere


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
            raise MeasureError(
                f"{sample.name}: {plan.file} has {report['bytes']} bytes, the plan allows {plan.limit_bytes}"
            )
    if provenance:
        sample.write(provenance)


def main(argv: list[str] | None = None) -> int:
    """Measure the samples that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", help="sample folders to measure (default: all of the plans)")
    parser.add_argument("--plans", type=Path, default=HERE / "plans.toml", help="which reports, and how")
    parser.add_argument("--room", type=Path, default=NEUTRAL, help="the neutral place (default: %(default)s)")
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
