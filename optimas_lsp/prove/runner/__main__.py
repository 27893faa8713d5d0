"""python3 runner.pyz JOB: climb the ladder of gates; the first failure stops."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from . import blame, gates, measure, process, timed, tools
from .job import Job, JobError
from .record import Record, take_key
from .trees import TreeChangedError

ORDER = ("static", "build", "determinism", "run", "compare", "sanitize", "time", "plausible", "reprofile", "provenance")
NEEDS_GPU = frozenset(ORDER) - {"static", "build", "provenance"}
REQUIRED = frozenset({"static", "build", "determinism", "run", "compare", "sanitize", "time", "plausible"})
GATES = {
    "static": gates.static,
    "build": gates.build,
    "determinism": gates.determinism,
    "run": gates.run,
    "compare": gates.compare_gate,
    "sanitize": measure.sanitize,
    "time": timed.measure_time,
    "plausible": measure.plausible,
    "reprofile": measure.reprofile,
    "provenance": measure.provenance,
}


class StoppedError(BaseException):
    """Somebody cancelled the job."""


_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _stop(_signal: int, _frame: object) -> None:
    for number in _SIGNALS:  # once is enough: a second one must not interrupt the clearing up
        signal.signal(number, signal.SIG_IGN)
    raise StoppedError


def climb(job: Job, record: Record) -> str:
    """Every gate in order; returns the verdict: proven, rejected or not proven, also where the original failed."""
    wanted = job.data.get("gates") or ORDER
    required = set(job.data.get("required") or REQUIRED)
    ran = False
    for name in ORDER:
        done = record.gate(name)
        if done is None:
            if name not in wanted:
                done = record.finish(name, "skipped", "switched off in the configuration")
            elif name in NEEDS_GPU and not job.gpu:
                done = record.finish(name, "skipped", "there is no NVIDIA GPU on this machine")
            else:
                try:
                    if name in {"determinism", "run", "compare"} and not ran:
                        with record.cost("runs"):
                            gates.runs(job, record)  # also when resumed: the candidate goes before the original
                        ran = True
                    with record.cost(name):
                        done = GATES[name](job, record)
                except TreeChangedError as error:
                    own = blame.own_change(job, error)
                    facts: dict[str, object] = {"side": blame.BASELINE} if own else {}
                    done = record.finish(name, "fail", own or str(error), 0.0, (), **facts)
        if done["status"] == "fail":
            return "not proven" if done["facts"].get("side") == blame.BASELINE else "rejected"
    missing = [name for name in ORDER if name in required and (record.gate(name) or {}).get("status") != "pass"]
    if job.gpu and not job.witness_library:
        record.unchecked("memory and kernel times: " + job.witness_missing)
        return "not proven"
    if missing == ["plausible"] and (record.gate("plausible") or {"facts": {}})["facts"].get("pending"):
        record.data["pending"] = missing  # everything else holds: whoever reads the new profiles decides
    return "not proven" if missing else "proven"


def main(arguments: list[str]) -> int:
    """Run the job in the folder named by the one argument; exit status 0 proven, 1 not, 2 unusable, 130 cancelled."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python3 runner.pyz JOB\n")
        return 2
    key = take_key()
    process.take_parent()
    process.adopt_orphans()
    process.close_memory()
    try:
        for number in _SIGNALS:
            signal.signal(number, _stop)
        job = Job(Path(arguments[0]))
    except JobError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except StoppedError:
        return 130
    record = Record(job.folder, job.data["hash"], key)
    if record.data["verdict"]:
        return 0 if record.data["verdict"] == "proven" else 1
    try:
        record.data["started"] = record.data.get("started") or tools.stamp()
        with record.cost("copies"):
            process.end_leftovers(job.work)
            try:
                job.lay_out((record.gate("build") or {"facts": {}})["facts"].get("trees"))
            except TreeChangedError as error:
                record.event("build", f"{error}: everything is done again")
                record.data["gates"] = []
                job.lay_out()
        record.data["machine"] = record.data["machine"] or measure.machine(job)
        if job.witness_changed:
            record.event("witness", job.witness_changed)
        record.data["verdict"] = climb(job, record)
        record.data["finished"] = tools.stamp()
        record.event("done", record.data["verdict"])
    except StoppedError:
        record.event("cancelled", "the job was cancelled")
        return 130
    finally:
        process.end_descendants()
        record.save()
        if record.data["verdict"]:
            job.clean()
    return 0 if record.data["verdict"] == "proven" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
