"""What callers, launches and the linker see of a function: all of it stays, top-level ``__restrict__`` aside."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.heading import Heading


def _headings(rewrite: Rewrite) -> tuple[Heading, Heading, int] | None:
    new = rewrite.new_heading
    if new is None or rewrite.main is None:
        return None
    return rewrite.heading, new, rewrite.main.line


def _said(parts: tuple[str, ...]) -> str:
    return " ".join(parts) or "nothing"


def _name(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if (both := _headings(rewrite)) and both[0].name != both[1].name:
        yield rewrite.found(both[2], f"the name was '{_said(both[0].name)}' and is '{_said(both[1].name)}'")


def _signature(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    both = _headings(rewrite)
    if both is None:
        return
    old, new, line = both
    for what, before, after in (
        ("template head", old.template, new.template),
        ("return type", old.rest, new.rest),
        ("end of the heading", old.after, new.after),
    ):
        if before != after:
            yield rewrite.found(line, f"the {what} was '{_said(before)}' and is '{_said(after)}'")
    if len(old.parameters) != len(new.parameters):
        yield rewrite.found(line, f"there were {len(old.parameters)} parameters and are {len(new.parameters)}")
    for at, (before, after) in enumerate(zip(old.parameters, new.parameters, strict=False), 1):
        if before != after:
            yield rewrite.found(line, f"parameter {at} was '{_said(before)}' and is '{_said(after)}'")


def _linkage(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    both = _headings(rewrite)
    if both is None:
        return
    old, new, line = both
    outside = ("extern", '"C"')
    before = sorted(word for word in old.linkage if word not in outside)
    after = sorted(word for word in new.linkage if word not in outside)
    if before != after:
        yield rewrite.found(line, f"the linkage was '{_said(tuple(before))}' and is '{_said(tuple(after))}'")
    if "extern" in new.linkage and "extern" not in old.linkage and not rewrite.extern_c:
        yield rewrite.found(line, "'extern' was added")
    if sorted(old.spaces) != sorted(new.spaces):
        yield rewrite.found(line, f"it was {_said(old.spaces)} and is {_said(new.spaces)}")


def _attributes(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    both = _headings(rewrite)
    if both is None:
        return
    old, new, line = both
    if sorted(old.attributes) != sorted(new.attributes):
        yield rewrite.found(line, f"the attributes were '{_said(old.attributes)}' and are '{_said(new.attributes)}'")


def _bounds(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    both = _headings(rewrite)
    if both is None or both[0].bounds == both[1].bounds:
        return
    old, new, line = both
    before, after = ("absent" if heading.bounds is None else f"({_said(heading.bounds)})" for heading in (old, new))
    allowed = "launch-bounds" in case.allow
    ending = ": a launch with larger blocks fails" if allowed else "; allow 'launch-bounds' to permit that"
    yield rewrite.found(line, f"__launch_bounds__ was {before} and is {after}{ending}", "flag" if allowed else "fail")


def _restrict(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    both = _headings(rewrite)
    if both is None or len(both[0].restricted) != len(both[1].restricted):
        return
    added = [
        parameter[-1]
        for parameter, before, after in zip(both[1].parameters, both[0].restricted, both[1].restricted, strict=True)
        if after and not before and parameter
    ]
    if added:
        yield rewrite.found(
            both[2], f"__restrict__ was added to {', '.join(added)}: wrong where any launch lets them overlap"
        )


RULES = (
    Rule("name", "the function keeps its name", "fail", each(_name)),
    Rule("signature", "parameters, return type and template head stay as they are", "fail", each(_signature)),
    Rule("linkage", "linkage and execution space stay as they are", "fail", each(_linkage)),
    Rule("attributes", "attributes stay as they are", "fail", each(_attributes)),
    Rule("launch-bounds", "launch bounds stay as they are unless 'launch-bounds' is allowed", "fail", each(_bounds)),
    Rule("restrict", "added __restrict__ is looked at by the proof", "flag", each(_restrict)),
)
