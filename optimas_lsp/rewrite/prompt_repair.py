"""What a backend is told about its last answer: the guardrails' reasons, or the whole relevant build log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from optimas_lsp.rewrite.compile import Compiled
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.prompt_data import fence_of, phrase, quoted, visible

AROUND = 2
"""Lines shown before and after each line that the log names."""

MOST_NAMED = 12
LONGEST_LOG = 12_000
"""Characters; a longer log is shown by the lines that tell why it failed, the linker's among them."""

_ENDING = (
    "Answer again with one JSON object of the same schema that mends this; give every rewritten function whole. The "
    "evidence, the limits and the guardrails are those above. If it cannot be mended, answer with no functions."
)


def refused_text(verdict: Verdict, *, built: bool = False) -> str:
    """After the guardrails refused: each rule that did, in its words, with the lines it holds against.

    ``built``: it was the machine code that they refused.
    """
    what = "the machine code of your answer" if built else "your answer; nothing was compiled"
    lines = [f"The guardrails refused {what}."]
    data: list[str] = []
    for rule in verdict.failures():
        data.append(f"{rule.id}: {visible(' '.join(rule.message.split()))}")
        data += [
            f"  {phrase(each.function)}, line {each.file_line or each.line}: {visible(each.text)}"
            for each in rule.lines
            if each.line
        ]
    return "\n".join([*lines, *quoted(fence_of(data), "refused", data), _ENDING])


def unusable_text(sentence: str) -> str:
    """After an answer that is no proposal, or one that cannot be put into the file."""
    data = [phrase(sentence)]
    return "\n".join(["Your answer could not be used.", *quoted(fence_of(data), "problem", data), _ENDING])


def failed_text(compiled: Compiled, edited: str, name: str) -> str:
    """After a failed build: how it ended, the log (of a long one the telling lines), the lines that it names."""
    step = compiled.steps[-1] if compiled.steps else None
    whole = compiled.relevant if step is None or len(step.log) > LONGEST_LOG else step.log.strip()
    log = [visible(line) for line in whole.split("\n")]
    ended = [phrase(compiled.sentence)]
    named = list(_named(whole, edited, name))
    blocks = [("outcome", ended), ("log", log), ("lines of the rewritten file that the log names", named)]
    fence = fence_of(line for _, lines in blocks for line in lines)
    parts = ["Your answer passed the guardrails but does not build."]
    for title, lines in blocks:
        if lines:
            parts += quoted(fence, title, lines)
    return "\n".join([*parts, _ENDING])


def _named(log: str, edited: str, name: str) -> Iterator[str]:
    """Numbered lines of the rewritten file around those that the log names as ``file(12)`` or ``file:12``."""
    lines = edited.split("\n")
    pattern = re.compile(re.escape(name.rsplit("/", 1)[-1]) + r"(?:\((\d+)\)|:(\d+))")
    found = dict.fromkeys(int(match.group(1) or match.group(2)) for match in pattern.finditer(log))
    shown: set[int] = set()
    for line in list(found)[:MOST_NAMED]:
        shown.update(range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1))
    yield from _numbered(lines, sorted(shown))


def _numbered(lines: Sequence[str], shown: Sequence[int]) -> Iterator[str]:
    last = 0
    for line in shown:
        if last and line > last + 1:
            yield "..."
        last = line
        yield f"{line:>5} | {visible(lines[line - 1].rstrip())}"
