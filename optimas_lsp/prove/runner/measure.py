"""Gates 5 to 9: sanitize, time, plausible, reprofile, provenance."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List

from . import VERSION, compare, process, timing, tools
from .gates import FAIL, PASS, SKIPPED, Gate, outputs_difference, tolerance_of
from .job import Job
from .record import Record

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
_SUMMARIES = (
    re.compile(r"ERROR SUMMARY: (\d+) error"),
    re.compile(r"RACECHECK SUMMARY: (\d+) hazard"),
)
REVIEW_ABOVE = 10.0
Series = Dict[str, Dict[str, List[float]]]


def sanitize(job: Job, record: Record) -> Gate:
    """compute-sanitizer's four tools on the candidate; accepted only with one summary and the right output."""
    began, tool = time.monotonic(), tools.find("compute-sanitizer")
    if not tool:
        return record.finish("sanitize", SKIPPED, "compute-sanitizer was not found (it comes with the CUDA toolkit)")
    name = job.data["target"].get("sanitize_input") or next(iter(job.inputs))
    limits = process.Limits(job.run_limits.seconds * 20, job.run_limits.memory_mb, 512, job.run_limits.file_mb)
    counts: dict[str, int | None] = {}
    job.run("baseline", name, "1")
    tolerance = tolerance_of(job, record, name)
    with tools.gpu_turn(False, job.gpu_uuid):
        for number, check in enumerate(job.data.get("sanitizers", SANITIZERS)):
            record.event("sanitize", check, number, len(SANITIZERS))
            counts[check], why, files = _sanitize_once(job, tool, check, "candidate", name, limits, tolerance)
            if why or counts[check]:
                baseline = _sanitize_once(job, tool, check, "baseline", name, limits, tolerance)[0]
                sentence = why or "{} found {} error{} in the candidate".format(
                    check, counts[check], "" if counts[check] == 1 else "s"
                )
                sentence += f"; the original has {baseline}" if baseline else "; the original has none"
                return record.finish("sanitize", FAIL, sentence, time.monotonic() - began, files, counts=counts)
    sentence = "{} found no error on input {}".format(", ".join(counts), name)
    return record.finish("sanitize", PASS, sentence, time.monotonic() - began, counts=counts)


def _sanitize_once(
    job: Job,
    tool: str,
    check: str,
    side: str,
    name: str,
    limits: process.Limits,
    tolerance: dict[str, float] | None,
) -> tuple[int | None, str | None, list[Path]]:
    job.restore()
    command = [tool, "--tool", check, "--print-limit", "20", *job.inputs[name]]
    scratch = job.work / "sanitize"
    scratch.mkdir(exist_ok=True)
    done = process.run(
        command, job.tree(side), job.environment(scratch), limits, job.logs / "sanitize", f"{check}-{side}"
    )
    files = [done.stdout, done.stderr]
    if done.stopped or done.status:
        return None, done.sentence(check), files
    text = process.read_tail(done.stdout, 1 << 22) + process.read_tail(done.stderr, 1 << 22)
    found = [int(m.group(1)) for pattern in _SUMMARIES for m in pattern.finditer(text)]
    if len(found) != 1:
        return None, f"{check} printed {len(found)} summaries instead of one", files
    if "stdout" in job.outputs and not found[0]:
        why = _output_under_tool(job, job.run("baseline", name, "1")[0].stdout, done.stdout, tolerance)
        if why:
            return None, f"under {check} the output changed: {why}", files
    return found[0], None, files


def _output_under_tool(job: Job, expected: Path, found: Path, tolerance: dict[str, float] | None) -> str | None:
    """Compare standard output with the tool's own '=========' lines left out: proof that the program really ran."""
    return compare.text_difference(expected, found, [*job.ignore, "^========="], tolerance)


def measure_time(job: Job, record: Record) -> Gate:
    """Interleaved runs of both sides until the interval of the ratio is tight; kernel times and program times."""
    began, plan = time.monotonic(), job.timing
    name = job.data["target"].get("time_input") or next(iter(job.inputs))
    modes = ("time",) if job.witness_library else ()
    series: Series = {side: {"kernel_ns": [], "gpu_ns": [], "program_s": []} for side in ("baseline", "candidate")}
    tolerance = tolerance_of(job, record, name)
    with tools.gpu_turn(True, job.gpu_uuid):
        before = tools.state()
        for side in series:
            job.run(side, name, "warm-up", modes=modes)
        for pair in range(int(plan["max_pairs"])):
            record.event("time", f"pair {pair + 1}", pair, int(plan["max_pairs"]))
            for side in ("baseline", "candidate") if pair % 2 == 0 else ("candidate", "baseline"):
                why = _time_once(job, side, name, f"time-{pair}", modes, series[side], tolerance)
                if why:
                    return record.finish("time", FAIL, why, time.monotonic() - began)
            key = "kernel_ns" if modes else "program_s"
            enough = pair + 1 >= plan["min_pairs"]
            if enough and timing.tight(series["baseline"][key], series["candidate"][key], plan["precision"]):
                break
            if enough and time.monotonic() - began > plan["budget_s"]:
                break
        after = tools.state()
    summary = _summary(series, modes, plan)
    record.data["timing"] = summary
    summary.update(input=name, before=before, after=after)
    status, sentence = _judge(summary, series, plan, modes)
    return record.finish("time", status, sentence, time.monotonic() - began, pairs=summary["pairs"])


def _time_once(
    job: Job,
    side: str,
    name: str,
    label: str,
    modes: tuple[str, ...],
    series: dict[str, list[float]],
    tolerance: dict[str, float] | None,
) -> str | None:
    finished, testimony, folder = job.run(side, name, label, modes=modes)
    if not finished.good:
        return finished.sentence(f"the {side} while it was timed")
    reference = job.run(side, name, "1")
    why = outputs_difference(job, (reference[0], reference[2]), (finished, folder), tolerance)
    if why:
        return f"while it was timed the {side} gave another output: {why}"
    if testimony.used:
        if not testimony.present:
            return testimony.why_absent()
        kernel, everything = testimony.kernel_ns(job.kernels)
        if not kernel:
            return f"no time was recorded for the kernel in the {side}"
        series["kernel_ns"].append(kernel)
        series["gpu_ns"].append(everything)
    series["program_s"].append(finished.seconds)
    return None


def _summary(series: Series, modes: tuple[str, ...], plan: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "pairs": len(series["baseline"]["program_s"]),
        "runs": series,
        "source": "cupti" if modes else "wall clock",
    }
    for key in ("kernel_ns", "gpu_ns", "program_s"):
        a, b = series["baseline"][key], series["candidate"][key]
        if a and b:
            speedup, low, high = timing.ratio(a, b, level=plan["level"])
            result[key] = {
                "baseline": median(a),
                "candidate": median(b),
                "speedup": speedup,
                "low": low,
                "high": high,
                "noise": [timing.spread(a), timing.spread(b)],
            }
    return result


def _judge(summary: dict[str, Any], series: Series, plan: dict[str, Any], modes: tuple[str, ...]) -> tuple[str, str]:
    key = "kernel_ns" if modes else "program_s"
    what, main = ("kernel" if modes else "program"), summary[key]
    numbers = "{} time {:.4g} times shorter (95 % interval {:.4g} to {:.4g}, {} pairs)".format(
        what, main["speedup"], main["low"], main["high"], summary["pairs"]
    )
    values = series["baseline"][key] + series["candidate"][key]
    if len(set(values)) == 1:
        return FAIL, "every run took exactly the same time, which no real measurement does"
    if main["high"] < 1:
        return FAIL, "slower: " + numbers
    if main["low"] <= 1:
        return FAIL, "no clear difference: " + numbers
    if main["speedup"] < 1 + plan["min_effect"]:
        return FAIL, "faster by less than {:.0%}: {}".format(plan["min_effect"], numbers)
    everything = summary.get("gpu_ns")
    if everything and everything["high"] < 1:
        return FAIL, "the kernel is faster but all GPU work together is slower: work was moved elsewhere"
    program = summary["program_s"]
    if program["high"] < 1 / (1 + plan["min_effect"]):
        return FAIL, "the kernel is faster but the whole program is slower ({:.4g} times)".format(program["speedup"])
    return PASS, numbers


def plausible(job: Job, record: Record) -> Gate:
    """The claim against physics: not under the ceiling's time, not over Amdahl's limit, not over ten-fold."""
    measured = record.data.get("timing")
    if not measured:
        return record.finish("plausible", SKIPPED, "nothing was timed")
    main = measured.get("kernel_ns") or measured["program_s"]
    if main["speedup"] > REVIEW_ABOVE:
        sentence = "{:.1f} times faster is more than {:g} times: a person must look".format(
            main["speedup"], REVIEW_ABOVE
        )
        return record.finish("plausible", FAIL, sentence, review=True)
    ceiling, kernel = job.data.get("ceiling_speedup"), measured.get("kernel_ns")
    if ceiling and kernel and kernel["low"] > ceiling * 1.05:
        sentence = (
            "{:.2f} times faster than measured, though the roofline allows at most {:.2f}: a person must look".format(
                kernel["speedup"], ceiling
            )
        )
        return record.finish("plausible", FAIL, sentence, review=True)
    program, everything = measured["program_s"], measured.get("gpu_ns")
    if everything:
        share = min(1.0, everything["baseline"] / 1e9 / program["baseline"])
        saved = max(0.0, everything["baseline"] - everything["candidate"]) / 1e9
        limit = program["baseline"] / max(program["baseline"] - saved, 1e-9)
        if program["low"] > limit * 1.10:
            sentence = "the program gained {:.2f} times, but the GPU time saved explains only {:.2f}".format(
                program["speedup"], limit
            )
            return record.finish("plausible", FAIL, sentence, review=True, gpu_share=share)
    if not ceiling:
        record.unchecked("the claim against the roofline: the profile gives no ceiling for this kernel")
    return record.finish("plausible", PASS, "the gain is within the roofline and within Amdahl's limit")


def reprofile(job: Job, record: Record) -> Gate:
    """Profile both sides with the sections of the original report, so that evidence can be compared."""
    wanted, tool = job.data.get("reprofile"), tools.find("ncu")
    if not wanted:
        return record.finish("reprofile", SKIPPED, "no re-profile was asked for")
    if not tool:
        return record.finish("reprofile", SKIPPED, "ncu was not found on this machine")
    began = time.monotonic()
    files: list[Path] = []
    name = job.data["target"].get("time_input") or next(iter(job.inputs))
    limits = process.Limits(job.run_limits.seconds * 30, job.run_limits.memory_mb, 512, job.run_limits.file_mb, True)
    with tools.gpu_turn(True, job.gpu_uuid):
        for side in ("baseline", "candidate"):
            report = job.folder / f"{side}.ncu-rep"
            command = [tool, "--clock-control", "none", "-f", "-o", str(report), *wanted, *job.inputs[name]]
            scratch = job.work / "profile"
            scratch.mkdir(exist_ok=True)
            job.restore()
            done = process.run(command, job.tree(side), job.environment(scratch), limits, job.logs / "profile", side)
            if not done.good or not report.is_file():
                sentence = done.sentence("profiling the " + side)
                return record.finish("reprofile", FAIL, sentence, time.monotonic() - began, [done.stdout, done.stderr])
            files.append(report)
    return record.finish("reprofile", PASS, "both versions were profiled again", time.monotonic() - began, files)


def provenance(job: Job, record: Record) -> Gate:
    """Hashes, versions, and the list of what was not checked."""
    uncovered: dict[str, int] = {}
    for name in job.inputs:
        _finished, testimony, _folder = job.run("candidate", name, "1")
        if testimony.used:
            for kind, count in testimony.uncovered().items():
                uncovered[kind] = uncovered.get(kind, 0) + count
    for kind in sorted(uncovered):
        record.unchecked("the witness does not look at: " + kind)
    if not process.network_prefix():
        record.unchecked("network: this system does not let the runner take it away")
    binary: str | None = job.data["target"].get("binary")
    hashes: dict[str, str] = {}
    for side in ("baseline", "candidate"):
        path = job.tree(side) / binary if binary else None
        if path and path.is_file():
            hashes[side] = compare.digest_file(path)
    versions = {name: tools.version(name) for name in ("nvcc", "ncu", "compute-sanitizer")}
    gpu = {key: value for key, value in (job.gpu or {}).items() if key != "uuid"} or None
    record.data["machine"] = {"gpu": gpu, "tools": versions, "python": sys.version.split()[0], "runner": VERSION}
    return record.finish("provenance", PASS, "hashes, versions and gaps are recorded", binaries=hashes)
