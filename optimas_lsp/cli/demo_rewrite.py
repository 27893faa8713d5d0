"""The second half of ``optimas demo``: a rewrite as an editor's job makes it, from the proposal to a recorded proof."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import optimas_lsp
from optimas_lsp.errors import WorkerError

if TYPE_CHECKING:
    from rich.console import Console

    from optimas_lsp.rewrite.outcome import Rewriting

BUILD_SECONDS = 60.0
"""With a build it may take this long; then it is shown without."""

SECONDS = 60.0


@dataclass
class Seen:
    """What the process said: its stages, what it asked to be accepted, and the outcome."""

    stages: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    accepted: list[str] = field(default_factory=list[str])
    outcome: Rewriting | None = None
    sentence: str = ""


def show_rewrite(target: Console, source: Path, report: Path) -> str:
    """Print how a rewrite of the costliest kernel comes about; what came of it in a sentence, or '' for no rewrite."""
    from rich.text import Text

    from optimas_lsp.rewrite.compile import find_compiler

    nvcc = find_compiler()
    seen = _rewrite(source, report, build=nvcc is not None, seconds=BUILD_SECONDS if nvcc else SECONDS)
    missing = "" if nvcc else "nvcc was not found, so the rewrite is not compiled; optimas doctor says how to get it"
    if seen is None:
        missing = f"compiling took longer than {BUILD_SECONDS:.0f} s on this machine, so it is shown without"
        seen = _rewrite(source, report, build=False, seconds=SECONDS)
    if seen is None or seen.outcome is None:
        target.print(Text(seen.sentence if seen is not None else "no rewrite was made in time", "yellow"))
        return ""
    for words in seen.accepted:
        target.print(Text(f"accepted for this demonstration only (otherwise you are asked): {words}", "dim"))
    recorded = any(words.startswith("recorded:") for _, words in seen.stages)
    for stage, said in seen.stages:
        words = "a proof of exactly this change is on record; nothing is run" if said.startswith("recorded:") else said
        if stage != "corpus" and not (recorded and words.startswith("running")):  # a recorded proof runs nothing
            target.print(Text.assemble((f"{stage:8} ", "bold cyan"), words), highlight=False)
    if missing:
        target.print(Text.assemble(("missing  ", "bold yellow"), missing), highlight=False)
    for line in _told(seen.outcome):
        target.print(line, highlight=False)
    return _in_short(seen.outcome)


def _in_short(outcome: Rewriting) -> str:
    """What came of the rewrite; a recorded result is called so, its settings stand above."""
    if outcome.proof is None:
        return f"The rewrite: {outcome.sentence}"
    sentence, with_settings, _ = outcome.proof.said.partition(", with other settings")
    return f"The rewrite: {sentence}{')' if with_settings else ''}"


def _told(outcome: Rewriting) -> Iterator[Any]:
    """What became of it, for a terminal."""
    from rich.syntax import Syntax
    from rich.text import Text

    yield ""
    attempt = outcome.shown
    if attempt is not None:
        answer = attempt.reply.outcome
        for change in getattr(answer, "changes", ()):
            yield Text.assemble((", ".join(change.evidence), "bold yellow"), f"  {change.reason}")
        if attempt.verdict is not None:
            rules = attempt.verdict.rules
            held = sum(each.status == "pass" for each in rules)
            flags = "".join(f"\n  to look at: {each.message}" for each in rules if each.status == "flag")
            yield Text(f"guardrails: {held} of {len(rules)} rules hold{flags}")
        if attempt.compiled is not None:
            yield Text(f"compiled here: {attempt.compiled.sentence}")
    proof = outcome.proof
    if proof is not None:
        recorded = cast("str | None", proof.details.get("recorded"))
        label = "RECORDED, not measured now" if recorded else "measured here" if proof.details else "no proof"
        yield Text.assemble((f"{label}: ", "bold magenta"), proof.said)
    yield from _scores(outcome)
    if attempt is not None and attempt.diff:
        yield ""
        yield Syntax(attempt.diff, "diff", background_color="default", word_wrap=True)


def _scores(outcome: Rewriting) -> Iterator[Any]:
    """EAR: does it cite the evidence, does it change the hot lines, did what it names move."""
    from rich.text import Text

    scores = outcome.scores or {}
    rows = (
        ("findings cited by a change", ("citations", "coverage")),
        ("citations that were given", ("citations", "precision")),
        ("hot samples on edited lines", ("localisation", "hot_samples")),
        ("edited lines that are hot", ("localisation", "edited_lines")),
    )
    if scores:
        yield Text("Did the rewrite follow the evidence? (EAR, docs/ear.md)")
    for words, (group, name) in rows:
        measure = cast("dict[str, Any]", cast("dict[str, Any]", scores.get(group) or {}).get(name) or {})
        if measure.get("value") is not None:
            yield Text(
                f"EAR  {words}: {100 * measure['value']:.0f} % "
                f"(95 % interval {100 * measure['low']:.0f} to {100 * measure['high']:.0f} %)"
            )


def _rewrite(source: Path, report: Path, *, build: bool, seconds: float) -> Seen | None:
    """Run the process that an editor's job is; None when it takes too long.

    Proofs are those recorded beside the samples; consents and attempts go to a folder that is thrown away.
    """
    request = {
        "source": str(source),
        "profile": str(report),
        "build": build,
        "settings": {"prove": {"executor": "recorded", "records": str(source.parent.parent)}},
    }
    with tempfile.TemporaryDirectory(prefix="optimas-demo-", ignore_cleanup_errors=True) as name:
        here = str(Path(optimas_lsp.__file__).resolve().parent.parent)
        paths = os.pathsep.join(each for each in (here, os.environ.get("PYTHONPATH")) if each)
        environment = os.environ | {"PYTHONPATH": paths, "OPTIMAS_STATE_DIR": name, "OPTIMAS_DATA_DIR": name}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "optimas_lsp.course"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.terminate()  # it ends what it started

        timer = threading.Timer(seconds, give_up)
        timer.start()
        try:
            seen = _conversation(process, json.dumps(request))
        finally:
            timer.cancel()
            if process.stdin is not None:
                process.stdin.close()
            process.wait(30)
    return None if late.is_set() and seen.outcome is None else seen


def _conversation(process: subprocess.Popen[str], request: str) -> Seen:
    from optimas_lsp.rewrite.outcome import Rewriting

    if process.stdin is None or process.stdout is None:
        raise WorkerError("the rewrite's process could not be connected")
    seen = Seen()
    process.stdin.write(request + "\n")
    process.stdin.flush()
    for line in process.stdout:
        message: dict[str, Any] = json.loads(line)
        match message["kind"]:
            case "progress":
                seen.stages.append((message["stage"], message["words"]))
            case "consent":
                seen.accepted += [each["sentence"] for each in message["actions"]]
                process.stdin.write("yes\n")
                process.stdin.flush()
            case "outcome":
                seen.outcome = Rewriting.model_validate(message["outcome"])
                seen.sentence = seen.outcome.sentence
            case _:
                seen.sentence = f"{message.get('what')}; {message.get('remedy') or ''}".rstrip("; ")
    return seen
