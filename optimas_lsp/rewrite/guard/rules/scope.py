"""Where a proposal may reach: only into allowed GPU functions, each named once, with changes that say where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, Skip, each


def _known(case: Case) -> Iterator[Finding]:
    for name, error in case.missing:
        yield Finding(name, 0, error.sentence())


def _once(case: Case) -> Iterator[Finding]:
    seen: set[tuple[int, int]] = set()
    for rewrite in case.rewrites:
        place = (rewrite.function.extent.start, rewrite.function.extent.end)
        if place in seen:
            yield rewrite.found(0, f"'{rewrite.name}' is given more than one new text")
        if any(start < place[1] and place[0] < end and (start, end) != place for start, end in seen):
            yield rewrite.found(0, f"'{rewrite.name}' lies inside another function that is rewritten")
        seen.add(place)


def _allowed(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    function = rewrite.function
    if function.kind == "host":
        yield rewrite.found(
            0, f"'{rewrite.name}' runs on the host (line {function.first_line}); only GPU code may change"
        )
    elif case.allowed is not None and function not in case.allowed:
        names = ", ".join(sorted(each.shown_name for each in case.allowed)) or "none"
        yield rewrite.found(0, f"'{rewrite.name}' is not among the functions that may change ({names})")


def _both(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if "__host__" in rewrite.heading.spaces and "__device__" in rewrite.heading.spaces:
        yield rewrite.found(0, f"'{rewrite.name}' also runs on the host: what the host computes with it changes, too")


def _changes(case: Case) -> Iterable[Finding] | Skip:
    if not case.proposal.changes:
        return Skip("the proposal lists no changes")
    return _misplaced(case)


def _misplaced(case: Case) -> Iterator[Finding]:
    rewritten = {rewrite.name: rewrite.function for rewrite in case.rewrites}
    short = {function.name: function for function in rewritten.values()}
    for change in case.proposal.changes:
        function = rewritten.get(change.function) or short.get(change.function.rsplit("::", 1)[-1])
        first, last = change.original_lines
        if function is None:
            yield Finding(change.function, 0, f"a change is said to be in '{change.function}', which has no new text")
        elif not (function.first_line <= first <= last <= function.last_line):
            extent = f"{function.first_line} to {function.last_line}"
            yield Finding(
                change.function, 0, f"a change names lines {first} to {last}; the function has {extent}", "flag"
            )


RULES = (
    Rule(
        "known-function", "every function that is rewritten exists, and its name means one definition", "fail", _known
    ),
    Rule("one-text", "every function is rewritten once", "fail", _once),
    Rule("allowed-function", "only the kernel and the device functions that may change do", "fail", each(_allowed)),
    Rule("host-device", "code that the host runs as well is looked at by the proof", "flag", each(_both)),
    Rule("change-scope", "every change is of a function that is rewritten and of lines it has", "fail", _changes),
)
