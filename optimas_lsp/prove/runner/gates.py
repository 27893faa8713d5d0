"""Gates 0 to 4: static, build, determinism, run, compare. Each records one sentence and the files behind it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any, Dict

from . import compare, process, tools
from .blame import BASELINE, runs_alone
from .job import Job
from .record import Record
from .trees import Tree, TreeChangedError
from .witness import Testimony

PASS, FAIL, SKIPPED = "pass", "fail", "skipped"
Gate = Dict[str, Any]
_NO_DATA = (
    "; it runs in a copy without what version control ignores: data that it reads must be tracked, "
    "or named by its full path"
)
POISONS = (0xA5, 0x5A)
MODES = {"1": ("launch", "readback", "poison"), "2": ("readback", "poison")}
"""The first run digests memory after each launch and so waits for it; the second leaves the program's order alone."""


def static(job: Job, record: Record) -> Gate:
    """What the guardrails said before the job was packed; the runner only carries their verdict."""
    for sentence in job.data.get("left_out", ()):
        record.unchecked(sentence)
    verdict = job.data.get("static") or {"status": SKIPPED, "sentence": "no static verdict came with the job"}
    return record.finish("static", verdict["status"], verdict["sentence"], facts_from="guardrails")


def build(job: Job, record: Record) -> Gate:
    """Both sides with the user's own commands; entry points and parameter layout must be the same.

    A build may run what it built. Raises TreeChangedError where the candidate's did something to the original's copy.
    """
    began = time.monotonic()
    logs: list[Path] = []
    original = Tree(job.tree(BASELINE), ())
    failed: Dict[str, process.Finished] = {}
    for side in ("candidate", "baseline"):  # the original also where the candidate fails: it may be no better
        done = _built(job, record, side, logs)
        if side == "candidate" and original.changed():
            raise TreeChangedError("building the candidate changed the original's folder")
        if not done.good:
            failed[side] = done
    if failed:
        side, who = (BASELINE, "original") if BASELINE in failed else ("candidate", "candidate")
        sentence, facts = failed[side].sentence("building the " + who), {}
        if side == BASELINE:
            facts = {"steady": not _builds_alone(job, record, logs)}
            if not facts["steady"] and "candidate" in failed:
                side, sentence = "candidate", failed["candidate"].sentence("building the candidate")
            elif not facts["steady"]:
                sentence += "; once more, without the candidate beside it, it built"
        return record.finish("build", FAIL, sentence, time.monotonic() - began, logs, side=side, **facts)
    trees = job.seal_trees()
    a, b = _entry_points(job, "baseline"), _entry_points(job, "candidate")
    record.data["resources"] = {"baseline": a, "candidate": b}
    seconds = time.monotonic() - began
    if a and not b:
        return record.finish("build", FAIL, "no kernel can be found in the candidate's binary", seconds, logs)
    if not a or not b:
        record.unchecked("entry points and parameter layout of the binary (cuobjdump or the binary's name is missing)")
        return record.finish("build", PASS, "both versions build", seconds, logs, trees=trees)
    for name in sorted(set(a) | set(b)):
        if name not in b or name not in a:
            sentence = "the kernel {} {}".format(name, "is gone" if name in a else "is new")
            return record.finish("build", FAIL, sentence, seconds, logs)
        if a[name]["parameters"] != b[name]["parameters"]:
            return record.finish("build", FAIL, f"the parameters of {name} changed", seconds, logs)
    spilled = [n for n in a if b[n]["local"] > a[n]["local"] or b[n]["stack"] > a[n]["stack"]]
    sentence = f"both versions build; the same {len(a)} kernels"
    sentence += "; new register spills or stack in " + ", ".join(spilled) if spilled else ""
    return record.finish("build", PASS, sentence, seconds, logs, spills=spilled, trees=trees)


def _built(job: Job, record: Record, side: str, logs: list[Path]) -> process.Finished:
    """The last command of one side's build that was run; its logs are added to ``logs``."""
    commands = job.data["target"]["build"]
    _make_output_folders(job.tree(side), commands)
    done = process.Finished(0, 0.0, "", job.logs, job.logs)
    for number, command in enumerate(commands):
        record.event("build", "{}: {}".format(side, " ".join(command)))
        done = process.run(
            command,
            job.tree(side),
            job.environment(job.work),
            job.build_limits,
            job.logs / "build",
            f"{side}-{number}",
            "build",
        )
        logs += [done.stdout, done.stderr]
        if not done.good:
            break
    return done


def _builds_alone(job: Job, record: Record, logs: list[Path]) -> bool:
    """Whether the original builds where nothing of the candidate is left, such as its files on a full disk."""
    job.leave_alone(BASELINE)
    return _built(job, record, BASELINE, logs).good


def _make_output_folders(tree: Path, commands: list[list[str]]) -> None:
    """Make the folders that ``-o`` writes into: a snapshot has no build folder, and compilers make none."""
    for command in commands:
        for flag, name in zip(command, command[1:]):
            if flag == "-o" and not Path(name).is_absolute() and ".." not in Path(name).parts:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)


def _entry_points(job: Job, side: str) -> dict[str, Gate] | None:
    binary = job.data["target"].get("binary")
    return tools.entry_points(job.tree(side) / binary) if binary else None


def runs(job: Job, record: Record) -> None:
    """Make every run that gates 2 to 4 look at: per input the candidate first, then the original twice, then again.

    A candidate that failed is not run again; the original is, on every input, while this turn on the GPU is held.
    """
    order = (("candidate", "1", POISONS[0]), ("baseline", "1", POISONS[0]), ("baseline", "2", POISONS[0]))
    order += (("candidate", "2", POISONS[1]),)
    total, failed = len(order) * len(job.inputs), False
    with tools.gpu_turn(False, job.gpu_uuid):
        for count, (name, (side, label, poison)) in enumerate((n, o) for n in job.inputs for o in order):
            if side == "candidate" and failed:
                continue
            record.event("run", f"{side} on {name} ({label})", count, total)
            finished, _testimony, _folder = job.run(side, name, label, modes=_modes(side, label), poison=poison)
            failed = failed or (side == "candidate" and not finished.good)


def _modes(side: str, label: str) -> tuple[str, ...]:
    return MODES["1"] if side == "baseline" else MODES[label]


def determinism(job: Job, record: Record) -> Gate:
    """The original twice: identical means that a bit-for-bit oracle exists."""
    began, launch_level = time.monotonic(), True
    inexact: dict[str, str] = {}
    facts: dict[str, Any]
    for name in job.inputs:
        first, one, left = job.run("baseline", name, "1", poison=POISONS[0])
        second, two, right = job.run("baseline", name, "2", poison=POISONS[0])
        for finished in (first, second):
            if not finished.good:
                sentence = "the original fails on input {}: {}{}".format(name, finished.sentence("the run"), _NO_DATA)
                facts = {"side": BASELINE, "steady": not runs_alone(job, record, name)}
                sentence += "" if facts["steady"] else "; once more it did not"
                return record.finish("determinism", FAIL, sentence, time.monotonic() - began, **facts)
        if one.used and not (one.present and two.present):
            sentence = one.why_absent() if not one.present else two.why_absent()
            return record.finish("determinism", FAIL, sentence, time.monotonic() - began, side=BASELINE)
        output = outputs_difference(job, (first, left), (second, right), None)
        why = output or compare.copies_difference(one, two)
        if why and not job.tolerance:
            sentence = f"two runs of the original differ on input {name}: {why}; a tolerance can be set in [target]"
            return record.finish("determinism", FAIL, sentence, time.monotonic() - began, side=BASELINE)
        if why:
            far = output and outputs_difference(job, (first, left), (second, right), job.tolerance)
            if far:
                sentence = f"two runs of the original differ by more than the tolerance on input {name}: {far}"
                return record.finish("determinism", FAIL, sentence, time.monotonic() - began, side=BASELINE)
            inexact[name] = why
            record.unchecked(f"copies to and from the host on input {name}: two runs of the original differ ({why})")
        elif one.errors or two.errors or compare.launch_difference(one, two):
            launch_level = False
            record.unchecked(
                "memory after each launch: two runs of the original differ there or could not be looked at, though "
                "they agree in what they output"
            )
    facts = {"exact": not inexact, "inexact": sorted(inexact), "launch_level": launch_level}
    if inexact:
        sentence = (
            "two runs of the original differ on {} ({}); compared there within the tolerance that was set".format(
                ", ".join(inexact), next(iter(inexact.values()))
            )
        )
        return record.finish("determinism", PASS, sentence, time.monotonic() - began, **facts)
    count = len(job.inputs)
    sentence = "two runs of the original are identical on {} input{}".format(count, "" if count == 1 else "s")
    return record.finish("determinism", PASS, sentence, time.monotonic() - began, **facts)


def run(job: Job, record: Record) -> Gate:
    """The candidate on every input, twice, in fresh processes: exit code 0 and no failed CUDA call."""
    began = time.monotonic()
    for name in job.inputs:
        for label, poison in zip(("1", "2"), POISONS):
            finished, testimony, _folder = job.run("candidate", name, label, modes=MODES[label], poison=poison)
            files = [finished.stdout, finished.stderr]
            spent = time.monotonic() - began
            if not finished.good:
                sentence = "{} on input {}".format(finished.sentence("the candidate"), name)
                return record.finish("run", FAIL, sentence, spent, files, input=name)
            if not testimony.used:
                continue
            if not testimony.present:
                return record.finish("run", FAIL, testimony.why_absent(), spent, files, input=name)
            expected = job.run("baseline", name, "1", poison=POISONS[0])[1]
            new = [f for f in testimony.failed if f["call"] not in {e["call"] for e in expected.failed}]
            strange = [e for e in testimony.errors if e.get("what") not in {b.get("what") for b in expected.errors}]
            if strange and not new:
                sentence = "on input {} the witness reports: {}".format(name, strange[0].get("what"))
                return record.finish("run", FAIL, sentence, spent, files, input=name)
            if new:
                sentence = "on input {} the call {} {}failed with CUDA error {}".format(
                    name, new[0]["call"], "of " + new[0]["kernel"] + " " if new[0]["kernel"] else "", new[0]["code"]
                )
                return record.finish("run", FAIL, sentence, spent, files, input=name)
            if label == "2":
                continue
            bad = next((launch for launch in testimony.launches if launch["status"]), None)
            if bad:
                sentence = "launch {} of {} ended with CUDA error {}".format(
                    bad["launch"], bad["kernel"], bad["status"]
                )
                return record.finish("run", FAIL, sentence, spent, files, input=name)
            if job.kernels and not any(launch["kernel"] in job.kernels for launch in testimony.launches):
                sentence = f"the kernel was not launched on input {name}"
                if any(launch["kernel"] in job.kernels for launch in expected.launches):
                    return record.finish("run", FAIL, sentence, spent, files, input=name)
    return record.finish("run", PASS, "the candidate runs on every input, twice", time.monotonic() - began)


def compare_gate(job: Job, record: Record) -> Gate:
    """Outputs, what the host got, and memory after every launch, against the original, on every input."""
    began, level = time.monotonic(), "launch"
    facts = (record.gate("determinism") or {"facts": {}})["facts"]
    for name in job.inputs:
        exact, tolerance = name not in facts.get("inexact", ()), tolerance_of(job, record, name)
        reference, expected, left = job.run("baseline", name, "1", poison=POISONS[0])
        compared = _something(job, record, name, reference, left) + len(expected.readbacks)
        if not compared:
            sentence = (
                f"nothing could be compared on input {name}: no line of output that counts, no file and no copy to "
            )
            sentence += "the host"
            return record.finish("compare", FAIL, sentence, time.monotonic() - began, input=name, side=BASELINE)
        for label, poison in zip(("1", "2"), POISONS):
            finished, found, right = job.run("candidate", name, label, modes=MODES[label], poison=poison)
            files = [reference.stdout, finished.stdout]
            spent = time.monotonic() - began
            why = outputs_difference(job, (reference, left), (finished, right), tolerance)
            if why:
                sentence = f"input {name}, run {label}: {why}"
                return record.finish("compare", FAIL, sentence, spent, files, input=name)
            if not expected.used:
                level = "output"
                continue
            why = compare.copies_difference(expected, found) if exact else None
            if why:
                sentence = f"input {name}, run {label}: {why}"
                return record.finish("compare", FAIL, sentence, spent, files, input=name)
            if exact and label == "1" and facts.get("launch_level", True):
                level = _launch_level(job, record, name, (expected, found), level)
    words = {
        "launch": "the outputs, what the host got and all memory after every launch are",
        "read-back": "the outputs and what the host got are",
        "output": "the outputs are",
    }[level]
    exact = not facts.get("inexact")
    how = "identical bit for bit" if exact else "within the tolerance that was set"
    sentence = f"{words} {how} on {len(job.inputs)} inputs, two runs each"
    return record.finish("compare", PASS, sentence, time.monotonic() - began, level=level, exact=exact)


def tolerance_of(job: Job, record: Record, name: str) -> dict[str, float] | None:
    """The configured tolerance, for inputs on which two runs of the original differ; None everywhere else."""
    facts = (record.gate("determinism") or {"facts": {}})["facts"]
    return job.tolerance if name in facts.get("inexact", ()) else None


def _something(job: Job, record: Record, name: str, finished: process.Finished, folder: Path) -> int:
    """How many outputs the original gave that count; what it did not give, although it is named, is told."""
    count = 0
    for pattern in job.outputs:
        if pattern != "stdout":
            files = sum(1 for each in Path(folder, "files").glob(pattern) if each.is_file())
            if not files:
                record.unchecked(f"the output files {pattern} on input {name}: the original writes none there")
            count += files
        elif any(line.strip() for line in compare.kept_lines(finished.stdout, job.ignore)):
            count += 1
        else:
            empty = not finished.stdout.stat().st_size
            why = "the original prints nothing" if empty else "target.ignore leaves out every line that it prints"
            record.unchecked(f"standard output on input {name}: {why}")
    return count


def _launch_level(job: Job, record: Record, name: str, testimonies: tuple[Testimony, Testimony], level: str) -> str:
    difference = compare.launch_difference(*testimonies)
    if not difference:
        return level
    sentence, launch, allocation = difference
    if allocation is not None:
        sentence += _locate(job, name, launch, allocation)
    record.unchecked(f"intermediate memory: {sentence} (on input {name}); outputs and copies to the host agree")
    return "read-back"


def _locate(job: Job, name: str, launch: int | None, allocation: int) -> str:
    """Run both sides once more to name the first differing byte of one allocation after one launch."""
    wanted, label = f"{launch}:{allocation}", f"dump-{launch}-{allocation}"
    dumps: list[Path] = []
    for side in ("baseline", "candidate"):
        _finished, _testimony, folder = job.run(side, name, label, poison=POISONS[0], dump=wanted)
        dumps.append(Path(folder, "witness", f"dump-{launch}-{allocation}.bin"))
    if not all(path.is_file() for path in dumps):
        return ""
    place = compare.first_difference(*dumps)
    for path in dumps:
        shutil.rmtree(str(path.parent), ignore_errors=True)
    return "; " + place if place else ""


def outputs_difference(
    job: Job,
    expected: tuple[process.Finished, Path],
    found: tuple[process.Finished, Path],
    tolerance: dict[str, float] | None,
    tools_own: str = "",
) -> str | None:
    """None when the outputs that the target names agree, else a sentence. Each side is (Finished, run folder).

    ``tools_own``: a pattern of lines that a tool printed which the program ran under.
    """
    if "stdout" in job.outputs:
        ignore = [*job.ignore, tools_own] if tools_own else job.ignore
        why = compare.text_difference(expected[0].stdout, found[0].stdout, ignore, tolerance)
        if why:
            return "standard output, " + why
    patterns = [pattern for pattern in job.outputs if pattern != "stdout"]
    if not patterns:
        return None
    why, count = compare.files_difference(Path(expected[1], "files"), Path(found[1], "files"), patterns)
    if not why and not count:
        return "none of the output files that [target] names was written ({})".format(", ".join(patterns))
    return why
