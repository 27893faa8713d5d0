"""From a text, a kernel and its evidence to what every transformation says of each function concerned."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.insight.evidence import Evidence, KernelAnalysis
from optimas_lsp.rewrite.catalogue.registry import Entry
from optimas_lsp.rewrite.catalogue.site import Cited, Site, cited, functions_of
from optimas_lsp.rewrite.catalogue.variant import Refusal, Variant
from optimas_lsp.rewrite.project_headers import project_headers
from optimas_lsp.source.syntax import Syntax, parse
from optimas_lsp.source.text import SourceText

_CAPABILITY = re.compile(r"(\d+)\.(\d)")


@dataclass(frozen=True, eq=False)
class Subject:
    """One file of a kernel's program as it is looked at: the profiled text, or one that was changed since."""

    text: str
    path: Path
    kernel: KernelAnalysis
    headers: tuple[str, ...]
    capability: int | None = None
    allow: frozenset[str] = frozenset()

    @staticmethod
    def of(
        text: str,
        path: Path,
        kernel: KernelAnalysis,
        *,
        headers: Sequence[str] | None = None,
        capability: int | None = None,
        allow: Collection[str] = (),
    ) -> Subject:
        """``headers`` None: the ones that the text includes are read from beside ``path``."""
        texts = project_headers(path, text) if headers is None else tuple(headers)
        return Subject(text, path, kernel, texts, capability, frozenset(allow))

    def sites(self, original: str | None = None, only: str | None = None) -> list[Site]:
        """The functions that the evidence concerns; ``original`` is the profiled text where this one differs."""
        syntax = parse(SourceText.of(self.text), "cuda")
        before: Mapping[int, int] = {}
        if original is None or original == self.text:
            evidence = cited(self.kernel, self.path)
            functions = functions_of(syntax, self.kernel, self.path)
        else:
            moved = _moved(original, self.text)
            evidence = cited(self.kernel, self.path, moved)
            before = {new: old for old, lines in sorted(moved.items(), reverse=True) for new in lines}
            functions = [each for each in syntax.functions if each.kind != "host"]
        return [
            Site(syntax, function, self.kernel, evidence, self.headers, self.capability, self.allow, before)
            for function in functions
            if only is None or function.shown_name == only
        ]


def capability_of(text: str | None) -> int | None:
    """``"9.0"`` as 90; None where nothing is known."""
    match = _CAPABILITY.search(text or "")
    return int(match.group(1)) * 10 + int(match.group(2)) if match else None


def looked(site: Site, entry: Entry) -> Iterator[Variant | Refusal]:
    """What one entry says of one function; one refusal where the function does not parse."""
    try:
        yield from entry.find(site)
    except KeyError as error:
        yield Refusal(f"the function is not well-formed for the parser: {error.args[0]}")


def answering(site: Site, entry: Entry, lines: tuple[int, int]) -> tuple[Evidence, ...]:
    """The evidence that a change of ``lines`` answers, most samples first: by rule, and by place or whole kernel."""
    placed: list[Cited] = []
    whole: list[Cited] = []
    for each in site.cited:
        if each.evidence.rule not in entry.rules:
            continue
        if each.evidence.location is None:
            whole.append(each)
        elif any(lines[0] <= line <= lines[1] for line in each.lines) or (
            entry.whole_kernel and site.function.kind == "kernel"
        ):
            placed.append(each)
    placed.sort(key=lambda each: (-each.evidence.share, each.evidence.id))
    return tuple(each.evidence for each in (*placed[:6], *(whole[:1] if site.function.kind == "kernel" else ())))


def _moved(old: str, new: str) -> Mapping[int, frozenset[int]]:
    """For each line of the old text, the lines of the new one that it became or that took its place."""
    found: dict[int, set[int]] = {}
    matcher = difflib.SequenceMatcher(None, old.split("\n"), new.split("\n"), autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        for line in range(a, b):
            if tag == "equal":
                found.setdefault(line + 1, set()).add(c + line - a + 1)
            else:
                found.setdefault(line + 1, set()).update(range(c + 1, max(d, c + 1) + 1))
    return {line: frozenset(lines) for line, lines in found.items()}


def function_text(syntax: Syntax, name: str) -> str | None:
    """The definition of the function with this shown name; None where there is not exactly one."""
    found = [function for function in syntax.functions if function.shown_name == name]
    if len(found) != 1:
        return None
    extent = found[0].extent
    return syntax.code.data[extent.start : extent.end].decode("utf-8", "replace")
