"""``python -P -m optimas_lsp.server.profile_run``: profiles one kernel in a copy of its program, as a job's process.

Speaks like ``optimas_lsp.course``: one line of JSON in, then progress, consent, and outcome or error as JSON lines. The
request names ``folder``, ``build`` and ``program`` (argument lists), ``kernel`` (a regular expression over base names),
``ncu`` and ``report``, the file to write, which may not exist.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile import collect
from optimas_lsp.profile.ncu import Filter, command
from optimas_lsp.profile.provenance import Request
from optimas_lsp.prove.bundle import snapshot
from optimas_lsp.prove.runner.process import Limits, clean_environment, end_descendants, run
from optimas_lsp.rewrite.consent import ConsentError, Consents, Run

CANCELLED = 130
BUILD_SECONDS = 600.0


class BuildError(OptimasError):
    """The program does not build."""


def say(message: dict[str, Any]) -> None:
    """One line to whoever started us."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Serve the one request; exit status 0 also after an error, which is an answer."""
    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, _stop)
    try:
        say({"kind": "outcome", "outcome": _profiled(asked)})
    except OptimasError as error:
        say({"kind": "error", "type": type(error).__name__, "what": error.what, "where": error.where,
             "line": error.line, "remedy": error.remedy})  # fmt: skip
    return 0


def _stop(*_: object) -> None:
    end_descendants()
    os._exit(CANCELLED)


def _until_left() -> None:
    """Whoever asked keeps our standard input open as long as the answer is wanted."""
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _profiled(asked: dict[str, Any]) -> dict[str, Any]:
    folder, report = Path(asked["folder"]), Path(asked["report"])
    build, program = [tuple(each) for each in asked["build"]], tuple(asked["program"])
    chosen = Filter(kernels=asked["kernel"])
    line = tuple(command(asked["ncu"], program, Path(report.name), chosen))
    _accepted(folder, Run(commands=(*build, line), why=f"to profile; the report goes to {report}"))
    threading.Thread(target=_until_left, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="optimas-profile-", ignore_cleanup_errors=True) as name:
        copy, logs = Path(name, "program"), Path(name, "logs")
        copy.mkdir()
        snapshot(folder, copy)
        for at, each in enumerate(build):
            say({"kind": "progress", "stage": "build", "words": f"building ({at + 1} of {len(build)})"})
            _build(each, copy, logs, f"build-{at}")
        os.chdir(copy)
        request = Request(program=program, folder=Path(name, "report"), stem="profile", chosen=chosen, ncu=asked["ncu"])
        say({"kind": "progress", "stage": "profile", "words": "waiting for the first launch"})
        (measured,) = collect.collect(request, _told)
        report.parent.mkdir(parents=True, exist_ok=True)
        part = report.with_name(f".{report.name}.part")
        shutil.copyfile(measured.report, part)
        part.replace(report)
        with contextlib.suppress(OSError):
            shutil.copyfile(Path(name, "report", "profile.provenance.json"), report.with_suffix(".provenance.json"))
    sentence = f"{len(measured.passes)} launches were profiled; the report is {report}"
    return {"status": "profiled", "sentence": sentence, "report": str(report)}


def _told(step: collect.Step) -> None:
    say({"kind": "progress", "stage": "profile", "words": f"launch {step.launch}: {step.kernel}"})


def _build(line: tuple[str, ...], copy: Path, logs: Path, name: str) -> None:
    (logs / "home").mkdir(parents=True, exist_ok=True)
    (copy / "build").mkdir(exist_ok=True)
    done = run(line, copy, clean_environment(logs / "home"), Limits(seconds=BUILD_SECONDS), logs, name)
    if not done.good:
        raise BuildError(done.sentence(line[0]), remedy="correct [target] build in optimas.toml")


def _accepted(folder: Path, action: Run) -> None:
    """Return when this was accepted, before or now; raises ConsentError."""
    consents = Consents.of_user()
    if not consents.missing(folder, (action,)):
        return
    plain = {**action.model_dump(mode="json"), "sentence": action.sentence()}
    say({"kind": "consent", "folder": str(folder), "actions": [plain]})
    if sys.stdin.readline().strip() != "yes":
        raise ConsentError("this was not accepted, so nothing was run", where=folder)
    consents.grant(folder, (action,))


if __name__ == "__main__":
    raise SystemExit(main())
