"""Load both possible next pivots of a binary search together with the present one: two steps a round trip."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import bare, field, statements, within
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at, renamed
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.types import integer
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant a loop that halves an interval."""
    seen = False
    for loop in within(site.scope.body, "while_statement"):
        seen = True
        found = _search(site, loop)
        yield Refusal(found, site.line(loop)) if isinstance(found, str) else found
    if not seen:
        yield Refusal("the function has no while loop")


def _search(site: Site, loop: Node) -> Variant | str:
    scope = site.scope
    condition = scope.squeezed(field(loop, "condition"))
    match = re.fullmatch(r"(\w+)-(\w+)>1", condition)
    if match is None:
        return "the loop does not narrow an interval down to one"
    high, low = match.groups()
    body = statements(field(loop, "body"))
    if len(body) != 2 or body[0].type != "declaration" or body[1].type != "if_statement":
        return "the loop's body is not one pivot and one decision"
    names = [scope.one(name) for name in (low, high)]
    if any(v is None or v.memory or integer(v.type) is None for v in names) or names[0].type != names[1].type:  # type: ignore[union-attr]
        return "the interval's ends are not integers of one type"
    kind = names[0].type  # type: ignore[union-attr]
    pivot = re.fullmatch(
        rf"(?:const)?{kind.replace(' ', '')}(\w+)="
        rf"(?:\({low}\+{high}\)/2|\({high}\+{low}\)/2|{low}\+\({high}-{low}\)/2|\({low}\+{high}\)>>1);",
        re.sub(r"\s+", "", scope.text(body[0])),
    )
    if pivot is None:
        return "the pivot is not the middle of the interval"
    middle = pivot.group(1)
    branch = body[1]
    test = bare(field(branch, "condition"))
    then = re.sub(r"[\s{}]+", "", scope.text(field(branch, "consequence")))
    other = branch.child_by_field_name("alternative")
    otherwise = "" if other is None else re.sub(r"[\s{}]+", "", scope.text(other)).removeprefix("else")
    if {then, otherwise} != {f"{high}={middle};", f"{low}={middle};"}:
        return "the decision does not move one end of the interval to the pivot"
    if scope.impure(test) is not None or any(True for _ in within(test, "assignment_expression", "update_expression")):
        return "the decision does more than compare"
    accesses = scope.accesses(test)
    if not accesses or any(access.write for access in accesses):
        return "the decision loads nothing"
    if any(middle not in scope.names(access.node) for access in accesses) or {low, high} & scope.names(test):
        return "the decision depends on more than the pivot"
    value = field(field(body[0], "declarator"), "value")
    return _edit(site, loop, (low, high, middle, kind), (value, test), down=then.startswith(f"{high}="))


def _edit(site: Site, loop: Node, names: tuple[str, str, str, str], parts: tuple[Node, Node], *, down: bool) -> Variant:
    scope = site.scope
    low, high, middle, kind = names
    below, above = scope.fresh("below"), scope.fresh("above")
    here, lower, upper = scope.fresh("at_middle"), scope.fresh("at_below"), scope.fresh("at_above")
    formula, question = scope.text(parts[0]), scope.text(parts[1])
    first = renamed(formula, {high: middle})
    second = renamed(formula, {low: middle})
    moves = (f"{high} = {{}};", f"{low} = {{}};") if down else (f"{low} = {{}};", f"{high} = {{}};")
    goes_down = here if down else f"!{here}"
    lines = [
        f"while ({high} - {low} > 1) {{",
        f"    const {kind} {middle} = {formula};",
        f"    const {kind} {below} = {middle} - {low} > 1 ? {first} : {middle};",
        f"    const {kind} {above} = {high} - {middle} > 1 ? {second} : {middle};",
        f"    const bool {here} = {question};",
        f"    const bool {lower} = {renamed(question, {middle: below})};",
        f"    const bool {upper} = {renamed(question, {middle: above})};",
        f"    if ({here}) {moves[0].format(middle)}",
        f"    else {moves[1].format(middle)}",
        f"    if ({high} - {low} > 1) {{",
        f"        if ({goes_down} ? {lower} : {upper}) {moves[0].format(f'{goes_down} ? {below} : {above}')}",
        f"        else {moves[1].format(f'{goes_down} ? {below} : {above}')}",
        "    }",
        "}",
    ]
    indent = indent_at(site.syntax.code.data, loop.start_byte)
    text = "\n".join([lines[0], *(indent + line for line in lines[1:])])
    return Variant(
        label="two steps a round",
        edits=(Edit(loop.start_byte, loop.end_byte, text),),
        lines=site.lines(loop),
        reason="the search takes the same decisions, but waits for memory once for two of them: both next pivots are "
        "loaded with the present one",
    )
