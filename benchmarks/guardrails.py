"""How many attacks the guardrails catch and how many honest rewrites they refuse, over the corpus beside their tests.

    python -m benchmarks.guardrails [--compile] [--list]

``--compile`` also compiles the original with every honest rewrite in place (needs nvcc): a rewrite that does not
compile would be no witness for anything.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.rewrite.guardrails import Verdict, examine
from optimas_lsp.rewrite.locate import locate
from optimas_lsp.rewrite.project_headers import project_headers
from optimas_lsp.rewrite.proposal import Change, FunctionText, Proposal
from optimas_lsp.source.syntax import Syntax, language_of, parse
from optimas_lsp.source.text import SourceText

HERE = Path(__file__).parents[1]
CORPUS = HERE / "tests" / "rewrite" / "guard" / "corpus"
EVIDENCE = ("PC-1", "PC-2", "PC-3", "BL-1", "RL-1", "IA-1", "PT-1")


@dataclass(frozen=True)
class Entry:
    """One attack or honest rewrite. ``rule`` must have ``status``; an honest one has no rule."""

    id: str
    source: Path
    proposal: Proposal
    rule: str = ""
    status: str = "fail"
    allow: tuple[Any, ...] = ()
    allowed: tuple[str, ...] | None = None
    headers: tuple[str, ...] = ()

    def verdict(self) -> Verdict:
        """What the guardrails say."""
        return examine(
            text_of(self.source),
            self.proposal,
            syntax=syntax_of(self.source),
            evidence=EVIDENCE,
            allow=self.allow,
            allowed=self.allowed,
            headers=self.headers,
        )


@functools.cache
def text_of(source: Path) -> SourceText:
    """The text of a source file, read once."""
    return SourceText.of(source.read_text("utf-8"))


@functools.cache
def syntax_of(source: Path) -> Syntax:
    """Its parse."""
    return parse(text_of(source), language_of(source) or "cuda")


def entries(kind: str) -> Iterator[Entry]:
    """The corpus' ``attacks`` or ``honest`` rewrites."""
    for file in sorted((CORPUS / kind).glob("*.toml")):
        data = tomllib.loads(file.read_text("utf-8"))
        for item in data[{"attacks": "attack", "honest": "rewrite"}[kind]]:
            yield _entry(item)


def _entry(item: dict[str, Any]) -> Entry:
    source = HERE / item["source"] if "source" in item else CORPUS / "kernels.cu"
    texts: list[FunctionText] = []
    changes: list[Change] = []
    for part in () if item.get("nothing") else (item, *item.get("also", ())):
        old, lines = original(source, part["function"], part.get("text", ""))
        texts.append(FunctionText(function=part["function"], text=_rewritten(part, old, item["id"])))
        changes.append(
            Change(
                function=item.get("change_function", part["function"]),
                original_lines=tuple(item.get("lines", lines)),
                evidence=tuple(item.get("evidence", ["PC-1"])),
                transformation=item.get("transformation", "rewrite"),
                reason=item.get("reason", "the loop waits for memory"),
            )
        )
    proposal = Proposal(functions=tuple(texts), changes=() if item.get("no_changes") else tuple(changes))
    headers = project_headers(source, text_of(source).text)
    return Entry(
        id=item["id"],
        source=source,
        proposal=proposal,
        rule=item.get("rule", ""),
        status=item.get("status", "fail"),
        allow=tuple(item.get("allow", ())),
        allowed=tuple(item["allowed"]) if "allowed" in item else None,
        headers=headers,
    )


def original(source: Path, function: str, new_text: str = "") -> tuple[str, tuple[int, int]]:
    """The text of a function of the file, and its first and last line; empty where there is none."""
    syntax = syntax_of(source)
    try:
        found = locate(syntax, function, new_text)
    except Exception:  # noqa: BLE001 - some attacks name a function that is not there
        return "", (1, 1)
    data = syntax.code.data[found.extent.start : found.extent.end]
    return data.decode(), (found.first_line, found.last_line)


def _rewritten(part: dict[str, Any], old: str, name: str) -> str:
    if "text" in part:
        return part["text"].strip("\n") if part["text"].strip() else part["text"]
    text = old
    for before, after in part.get("replace", ()):
        assert before in text, f"{name}: {before!r} is not in the function"
        text = text.replace(before, after)
    if "repeat" in part:
        anchor, piece, count = part["repeat"]
        assert anchor in text, f"{name}: {anchor!r} is not in the function"
        text = text.replace(anchor, piece * count + anchor, 1)
    return text


def main() -> int:
    """Print both figures; exit status 1 when one is not what it must be."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compile", action="store_true", help="compile every honest rewrite, too (needs nvcc)")
    options.add_argument("--list", action="store_true", help="show every entry with what was said of it")
    chosen = options.parse_args()

    spent: list[float] = []
    attacks = [(each, timed(each, spent)) for each in entries("attacks")]
    honest = [(each, timed(each, spent)) for each in entries("honest")]

    missed = [(each, verdict) for each, verdict in attacks if verdict.rule(each.rule).status != each.status]
    refused = [(each, verdict) for each, verdict in honest if not verdict.accepted]
    flagging = sum(each.status == "flag" for each, _ in attacks)
    if chosen.list:
        for each, verdict in attacks:
            others = ", ".join(rule.id for rule in verdict.failures() if rule.id != each.rule)
            print(f"  attack  {each.rule:20} {verdict.rule(each.rule).status:5} {each.id}   [{others}]")
        for each, verdict in honest:
            print(
                f"  honest  {'accepted' if verdict.accepted else 'REFUSED':9} {each.id}   [{', '.join(verdict.flags)}]"
            )
    for each, verdict in missed:
        found = ", ".join(f"{rule.id}:{rule.status}" for rule in verdict.rules if rule.status in {"fail", "flag"})
        print(f"missed: {each.id}: wanted {each.rule}:{each.status}, got {found or 'nothing'}")
    for each, verdict in refused:
        print(f"refused: {each.id}: " + "; ".join(f"{rule.id}: {rule.message}" for rule in verdict.failures()))

    print(f"{datetime.datetime.now(datetime.UTC).date()}, {platform.machine()}, Python {platform.python_version()}")
    print(f"attacks caught by the named rule: {len(attacks) - len(missed)} of {len(attacks)} ({flagging} are flags)")
    share = 100 * len(refused) / max(1, len(honest))
    print(f"honest rewrites refused: {len(refused)} of {len(honest)} ({share:.1f} %)")
    print(
        f"CPU time of one proposal: {1e3 * statistics.median(spent):.0f} ms median, {1e3 * max(spent):.0f} ms at most"
    )
    good = not missed and share <= 5
    if chosen.compile:
        good = compiled(honest) and good
    return 0 if good else 1


def timed(entry: Entry, spent: list[float]) -> Verdict:
    """The verdict; its CPU seconds are added to ``spent``."""
    begun = time.process_time()
    verdict = entry.verdict()
    spent.append(time.process_time() - begun)
    return verdict


def compiled(honest: list[tuple[Entry, Verdict]]) -> bool:
    """Whether every honest rewrite compiles in place of the original."""
    from optimas_lsp.rewrite.candidate import Candidate

    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("compiled: not tried, nvcc is not there", file=sys.stderr)
        return False
    compilable = [each for each, _ in honest if each.source.suffix == ".cu"]
    with tempfile.TemporaryDirectory() as folder:

        def build(job: tuple[int, Entry]) -> str:
            number, each = job
            file = Path(folder) / f"{number}.cu"
            file.write_bytes(Candidate.of(each.source.read_bytes(), each.proposal).edited)
            command = [
                nvcc,
                "-arch=sm_90",
                "-std=c++17",
                "-cubin",
                f"-I{each.source.parent}",
                "-o",
                f"{file}.cubin",
                str(file),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            return "" if done.returncode == 0 else f"{each.id}: {done.stderr.strip()[:600]}"

        with ThreadPoolExecutor(2) as pool:
            failures = [said for said in pool.map(build, enumerate(compilable)) if said]
    for said in failures:
        print(f"does not compile: {said}")
    print(f"honest rewrites in CUDA that compile: {len(compilable) - len(failures)} of {len(compilable)}")
    return not failures


if __name__ == "__main__":
    sys.exit(main())
