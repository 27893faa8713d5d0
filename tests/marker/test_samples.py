"""What the real server shows for real reports, against the marks in copies of the samples.

The marked copies lie in ``sources/``. ``OPTIMAS_RENEW_MARKS=1`` writes the ``diag`` and ``hint`` marks anew after a
sample was measured again; look at the difference before you keep it. Every warning needs a mark; whatever else a
mark names must be there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.cli.editor import Editor
from tests.marker.marks import Mark, is_marked, parse_marks, with_marks, without_marks

SOURCES = Path(__file__).parent / "sources"
SAMPLES = Path(__file__).parents[2] / "samples"
MARKED = sorted(path.relative_to(SOURCES) for path in SOURCES.rglob("*") if path.suffix in {".cu", ".cuh", ".py"})
RENEW = os.environ.get("OPTIMAS_RENEW_MARKS") == "1"
WARNING, INFORMATION = 2, 3
SECONDS = 100.0
BARS = " ▏▎▍▌▋▊▉█"

pytest.importorskip("ncu_report", reason="reading a .ncu-rep needs the ncu-report package")


class Session(Editor):
    """The demo's editor on ``home``, which also waits for the findings of one document."""

    def __init__(self, home: Path) -> None:
        super().__init__([sys.executable, "-m", "optimas_lsp"], home)
        self.home = home

    def findings(self, uri: str) -> list[dict[str, Any]]:
        if not self.diagnostics.get(uri):
            self._until(lambda _: bool(self.diagnostics.get(uri)), f"findings for {uri}", SECONDS)
        return self.diagnostics[uri]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One session on a workspace of all marked samples, each with its report."""
    home = tmp_path_factory.mktemp("marked")
    for folder in sorted({path.parts[0] for path in MARKED}):
        shutil.copytree(SOURCES / folder, home / folder)
        for report in (SAMPLES / folder).glob("profile.ncu-rep*"):
            shutil.copy(report, home / folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTIMAS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        with Session(home) as editor:
            editor.start(SECONDS)
            yield editor
            assert editor.stop(SECONDS) == 0


class Seen:
    """What the editor shows of one document, by 1-based line."""

    def __init__(self, session: Session, path: Path, text: str) -> None:
        self._session = session
        self._uri = session.open(path, "python" if path.suffix == ".py" else "cuda-cpp", text)
        self.diagnostics = session.findings(self._uri)
        end = {"line": text.count("\n"), "character": 0}
        whole = {"start": {"line": 0, "character": 0}, "end": end}
        self.hints = self._ask("textDocument/inlayHint", range=whole)
        self.lenses = self._ask("textDocument/codeLens")

    def _ask(self, method: str, **more: Any) -> Any:
        return self._session.request(method, {"textDocument": {"uri": self._uri}, **more}, SECONDS) or []

    def findings(self, least: int = INFORMATION) -> list[tuple[int, str, str]]:
        """Line, rule and whole percent of every finding of severity ``least`` or above."""
        found: list[tuple[int, str, str]] = []
        for item in self.diagnostics:
            share = re.search(r"([\d.]+) (?:± [\d.]+ )?%", item["message"])
            if item["severity"] <= least:
                percent = f"{float(share.group(1)):.0f}%" if share else "?"
                found.append((item["range"]["start"]["line"] + 1, item["code"], percent))
        return sorted(found)

    def hints_on(self, line: int) -> list[str]:
        labels = [hint["label"] for hint in self.hints if hint["position"]["line"] == line - 1]
        return [label if isinstance(label, str) else "".join(part["value"] for part in label) for label in labels]

    def lenses_on(self, line: int) -> list[str]:
        return [lens["command"]["title"] for lens in self.lenses if lens["range"]["start"]["line"] == line - 1]

    def hover_on(self, line: int, content: str) -> str:
        start = len(content) - len(content.lstrip())
        answer = self._ask("textDocument/hover", position={"line": line - 1, "character": start})
        return answer["contents"]["value"] if answer else ""


def renewed(seen: Seen, text: str, comment: str) -> str:
    """The marked text with ``diag`` and ``hint`` marks as seen: of every warning, and of what was marked before."""
    number, plain = {}, 0
    for line, content in enumerate(text.split("\n"), 1):
        plain += not is_marked(content)
        number[line] = plain
    old = parse_marks(text)
    named = {(mark.line, mark.arguments[0]) for mark in old if mark.name == "diag"}
    warnings = seen.findings(WARNING)
    marks: dict[int, list[str]] = {}
    for line, rule, share in seen.findings():
        if (line, rule) in named or (line, rule, share) in warnings:
            marks.setdefault(number[line], []).append(f'diag("{rule}", "{share}")')
    for line in sorted({line for line, _, _ in warnings} | {mark.line for mark in old if mark.name == "hint"}):
        for hint in seen.hints_on(line):
            marks.setdefault(number[line], []).append(f'hint("{hint.lstrip(BARS)}")')
    for mark in old:
        if mark.name not in {"diag", "hint"}:
            arguments = ", ".join(f'"{argument}"' for argument in mark.arguments)
            marks.setdefault(number[mark.line], []).append(f"{mark.name}({arguments})")
    return with_marks(without_marks(text), marks, comment)


@pytest.mark.parametrize("marked", MARKED, ids=str)
def test_the_editor_shows_what_the_marks_say(session: Session, marked: Path) -> None:
    text = (SOURCES / marked).read_text("utf-8")
    seen = Seen(session, session.home / marked, text)
    if RENEW:
        (SOURCES / marked).write_text(renewed(seen, text, "#" if marked.suffix == ".py" else "//"), "utf-8")
        pytest.skip("the marks were written anew")
    marks = parse_marks((SOURCES / marked).read_text("utf-8"), str(marked))
    assert marks
    expected = {(mark.line, *mark.arguments) for mark in marks if mark.name == "diag"}
    assert expected <= set(seen.findings())
    assert set(seen.findings(WARNING)) <= expected, "a warning without a mark"
    lines = text.split("\n")
    for mark in marks:
        assert_holds(seen, mark, lines[mark.line - 1])


def assert_holds(seen: Seen, mark: Mark, content: str) -> None:
    wanted = mark.arguments[0] if mark.arguments else ""
    if mark.name == "hint":
        assert any(wanted in hint for hint in seen.hints_on(mark.line)), mark
    elif mark.name == "lens":
        assert any(wanted in title for title in seen.lenses_on(mark.line)), mark
    elif mark.name == "hover":
        assert wanted in seen.hover_on(mark.line, content), mark
    elif mark.name == "gone":
        assert mark.line not in {line for line, _, _ in seen.findings()}
        assert seen.hints_on(mark.line) == []
