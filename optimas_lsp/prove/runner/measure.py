"""Gates 5 and 7 to 9: sanitize, plausible, reprofile, provenance."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from pathlib import Path
from typing import Any

from . import VERSION, compare, process, tools
from .blame import BASELINE
from .gates import FAIL, PASS, SKIPPED, Gate, outputs_difference, tolerance_of
from .job import Job
from .record import Record

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
_SUMMARIES = (
    re.compile(r"ERROR SUMMARY: (\d+) error"),
    re.compile(r"RACECHECK SUMMARY: (\d+) hazard"),
)
REVIEW_ABOVE = 10.0


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
                errors, failed, _ = _sanitize_once(job, tool, check, BASELINE, name, limits, tolerance)
                sentence = why or "{} found {} error{} in the candidate".format(
                    check, counts[check], "" if counts[check] == 1 else "s"
                )
                sentence += f"; the original: {failed}" if failed else f"; the original has {errors or 'none'}"
                if failed or errors:
                    spent = time.monotonic() - began
                    return record.finish("sanitize", FAIL, sentence, spent, files, counts=counts, side=BASELINE)
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
    scratch = job.fresh(side, "sanitize")
    command = [tool, "--tool", check, "--print-limit", "20", *job.inputs[name]]
    done = process.run(
        command, job.tree(side), job.environment(scratch), limits, job.logs / "sanitize", f"{check}-{side}", check
    )
    files = [done.stdout, done.stderr]
    if done.stopped or done.status:
        return None, done.sentence(check), files
    text = process.read_tail(done.stdout, 1 << 22) + process.read_tail(done.stderr, 1 << 22)
    found = [int(m.group(1)) for pattern in _SUMMARIES for m in pattern.finditer(text)]
    if len(found) != 1:
        return None, f"{check} printed {len(found)} summaries instead of one", files
    if not found[0]:
        job.keep_outputs(side, scratch / "files")
        reference = job.run("baseline", name, "1")
        expected, right = (reference[0], reference[2]), (done, scratch)
        why = outputs_difference(job, expected, right, tolerance, "^=========")  # proof that the program really ran
        if why:
            return None, f"under {check} the output changed: {why}", files
    return found[0], None, files


def plausible(job: Job, record: Record) -> Gate:
    """The claim against physics: not under the ceiling's time, not over Amdahl's limit, not over ten-fold."""
    measured = record.data.get("timing")
    if not measured:
        return record.finish("plausible", SKIPPED, "nothing was timed")
    ceiling: float | None = job.data.get("ceiling_speedup")
    status, sentence, facts = credible(measured, ceiling, bool(job.data.get("reprofile")))
    if status == PASS and not ceiling:
        record.unchecked("the claim against the roofline: the profile gives no ceiling for this kernel")
    return record.finish("plausible", status, sentence, **facts)


def credible(measured: dict[str, Any], ceiling: float | None, reprofiled: bool) -> tuple[str, str, dict[str, Any]]:
    """(status, sentence, facts) of what was measured.

    ``reprofiled``: the candidate is profiled next, which may settle it.
    """
    main = measured.get("kernel_ns") or measured["program_s"]
    if main["speedup"] > REVIEW_ABOVE:
        sentence = "{:.1f} times faster is more than {:g} times: a person must look".format(
            main["speedup"], REVIEW_ABOVE
        )
        return FAIL, sentence, {"review": True}
    program, everything = measured["program_s"], measured.get("gpu_ns")
    if everything:
        share = min(1.0, everything["baseline"] / 1e9 / program["baseline"])
        saved = max(0.0, everything["baseline"] - everything["candidate"]) / 1e9
        limit = program["baseline"] / max(program["baseline"] - saved, 1e-9)
        if program["low"] > limit * 1.10:
            sentence = "the program gained {:.2f} times, but the GPU time saved explains only {:.2f}".format(
                program["speedup"], limit
            )
            return FAIL, sentence, {"review": True, "gpu_share": share}
    kernel = measured.get("kernel_ns")
    if ceiling and kernel and kernel["low"] > ceiling * 1.05:
        sentence = "{:.2f} times faster, though the roofline allows at most {:.2f} for the original's work".format(
            kernel["speedup"], ceiling
        )
        if reprofiled:
            sentence += ": the candidate's own profile has to say what it does"
            return SKIPPED, sentence, {"pending": "reprofile", "ceiling": ceiling}
        return FAIL, sentence + ": a person must look", {"review": True}
    return PASS, "the gain is within the roofline and within Amdahl's limit", {}


def reprofile(job: Job, record: Record) -> Gate:
    """Profile both sides with the sections of the original report, so that evidence can be compared.

    What keeps the original from being profiled is no fault of the candidate, so the gate is then skipped. The reports'
    digests are part of the sealed result: who reads them later knows that they are these.
    """
    wanted, tool = job.data.get("reprofile"), tools.find("ncu")
    if not wanted:
        return record.finish("reprofile", SKIPPED, "no re-profile was asked for")
    if not tool:
        return record.finish("reprofile", SKIPPED, "ncu was not found on this machine")
    began = time.monotonic()
    files: list[Path] = []
    digests: dict[str, str] = {}
    name = job.data["target"].get("time_input") or next(iter(job.inputs))
    limits = process.Limits(job.run_limits.seconds * 30, job.run_limits.memory_mb, 512, job.run_limits.file_mb, True)
    with tools.gpu_turn(True, job.gpu_uuid):
        for number, side in enumerate(("baseline", "candidate")):
            record.event("reprofile", side, number, 2)
            report = job.folder / f"{side}.ncu-rep"
            with contextlib.suppress(FileNotFoundError):
                report.unlink()
            scratch, logs = job.fresh(side, "profile"), job.logs / "profile"
            own = logs / f"{side}.ncu"  # what ncu says itself, so that standard output is the program's alone
            process.remove(own)
            command = [tool, "--clock-control", "none", "--log-file", str(own), "-f", "-o", str(report), *wanted]
            command += job.inputs[name]
            done = process.run(command, job.tree(side), job.environment(scratch), limits, logs, side, "ncu")
            why = None
            if not done.good or not report.is_file() or report.is_symlink():
                said = "" if done.stopped else _errors_of_ncu(own)
                why = f"profiling the {side} failed: {said}" if said else done.sentence("profiling the " + side)
            if not why:
                job.keep_outputs(side, scratch / "files")
                why = _output_under_ncu(job, record, name, side, (done, scratch))
            if why:
                status = FAIL if side == "candidate" else SKIPPED
                files = [done.stdout, done.stderr, *([own] if own.is_file() and not own.is_symlink() else [])]
                return record.finish("reprofile", status, why, time.monotonic() - began, files)
            files.append(report)
            digests[side] = compare.digest_file(report)
    sentence = f"both versions were profiled again on input {name}"
    return record.finish("reprofile", PASS, sentence, time.monotonic() - began, files, reports=digests)


def _errors_of_ncu(log: Path) -> str:
    """What ncu's own log says went wrong, in one line."""
    text = "" if log.is_symlink() or not log.is_file() else process.read_tail(log)
    errors = re.findall(r"^==ERROR==\s*(.+)$", text, re.MULTILINE)
    return "; ".join(line.strip() for line in errors)[:300]


def _output_under_ncu(
    job: Job, record: Record, name: str, side: str, found: tuple[process.Finished, Path]
) -> str | None:
    """The right output proves that what was profiled is what was proven.

    Of ncu's own lines and of empty ones some may stand between the program's, so neither counts.
    """
    reference = job.run("baseline", name, "1")
    expected, tolerance = (reference[0], reference[2]), tolerance_of(job, record, name)
    why = outputs_difference(job, expected, found, tolerance, r"^(==[A-Z]+==.*)?$")
    return f"under ncu the output of the {side} changed: {why}" if why else None


def machine(job: Job) -> dict[str, Any]:
    """What is known of the machine from the start, and so also of a proof that ends early."""
    gpu = {key: value for key, value in (job.gpu or {}).items() if key != "uuid"} or None
    return {"gpu": gpu, "python": sys.version.split()[0], "runner": VERSION}


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
    record.data["machine"] = {**machine(job), "tools": versions}
    return record.finish("provenance", PASS, "hashes, versions and gaps are recorded", binaries=hashes)
