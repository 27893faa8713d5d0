"""What a finding means at length, and what the catalogue can and cannot do about a kernel, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from optimas_lsp.insight import knowledge
from optimas_lsp.server.wording import Markup, paragraphs

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, KernelAnalysis
    from optimas_lsp.server.possible import Possible, Transformation

MARKDOWN = Markup(markdown=True)


def explanation(
    kernel: KernelAnalysis, finding: Evidence | None, possible: Possible | None, past: Sequence[str] = ()
) -> str:
    """The page of the finding's rule, what past attempts say of it, then each transformation with its reason.

    ``possible`` None: not looked for. ``past`` are sentences from the corpus.
    """
    return paragraphs(_parts(kernel, finding, possible, past))


def _parts(
    kernel: KernelAnalysis, finding: Evidence | None, possible: Possible | None, past: Sequence[str]
) -> Iterator[str]:
    if finding is not None and finding.rule in knowledge.rules():
        page = knowledge.page(knowledge.rules()[finding.rule], links=False)
        yield page.replace("\n## ", "\n### ").replace("# ", "## ", 1).rstrip()
    if past:
        yield "## What was tried before"
        yield "\n".join(f"- {MARKDOWN.escape(each)}" for each in past)
    yield f"## What can be tried on {MARKDOWN.escape(kernel.base_name)} without a model"
    if possible is None:
        yield "Which transformations of the catalogue apply is known once the file is saved."
        return
    rows = possible.kernels.get(kernel.mangled, ())
    mine = [each for each in rows if finding is None or not each.applies or finding.id in each.evidence]
    yield _list([each for each in mine if each.applies]) or "No transformation of the catalogue applies."
    others = [each for each in mine if not each.applies]
    if others:
        yield "### What does not apply, and why"
        yield _list(others)


def _list(rows: Sequence[Transformation]) -> str:
    return "\n".join(
        f"- {MARKDOWN.strong(MARKDOWN.escape(each.title))}"
        + (f" for {', '.join(each.evidence)}" if each.evidence else "")
        + f": {MARKDOWN.escape(each.reason)}"
        + (f" (line {each.line})" if each.line else "")
        for each in rows
    )
