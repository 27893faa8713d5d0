"""Visit only the bits that are set, instead of testing each."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.loops import CountedLoop, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import bare, field, statements
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at, line_start
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """Two variants a loop over bits: jump from set bit to set bit, or stop after the highest."""
    seen = False
    for node in loops(site.scope):
        loop = counted(site.scope, node)
        if isinstance(loop, str):
            continue
        found = _bits(site, loop)
        if found is None:
            continue
        seen = True
        if isinstance(found, str):
            yield Refusal(found, site.line(node))
            continue
        yield from _variants(site, loop, *found)
    if not seen:
        yield Refusal("no loop tests the bits of a number one by one")


def _bits(site: Site, loop: CountedLoop) -> tuple[str, Node] | str | None:
    scope = site.scope
    body = statements(loop.body)
    if len(body) != 1 or body[0].type != "if_statement" or loop.step is not None:
        return None
    condition = re.sub(r"[\s]+", "", scope.text(bare(field(body[0], "condition"))))
    v = re.escape(loop.variable)
    match = re.fullmatch(rf"(\w+)&\(1[uU]<<{v}\)|\(?(\w+)>>{v}\)?&1[uU]?", condition)
    if match is None:
        return None
    word = match.group(1) or match.group(2)
    variable = scope.one(word)
    if variable is None or variable.memory or variable.type not in {"unsigned", "uint32_t"}:
        return f"'{word}' is not an unsigned number of 32 bits"
    if word in scope.assigned(loop.body):
        return f"'{word}' changes in the loop"
    if loop.type not in {"int", "unsigned"} or scope.value_of(loop.start) != 0:
        return "the loop does not start at bit 0"
    if scope.value_of(loop.bound) != 32:
        return "the loop does not go over all 32 bits"
    if body[0].child_by_field_name("alternative") is not None:
        return "something is done for bits that are not set, too"
    if scope.leaves(loop.body):
        return "the loop may be left early"
    return word, field(body[0], "consequence")


def _variants(site: Site, loop: CountedLoop, word: str, action: Node) -> Found:
    scope, data = site.scope, site.syntax.code.data
    indent = indent_at(data, loop.node.start_byte)
    rest = scope.fresh("rest")
    inner = scope.text(action).strip()
    inner = inner[1:-1].strip() if inner.startswith("{") else inner
    lines = [line.strip() for line in inner.split("\n")]
    text = "\n".join(
        [
            f"for (unsigned {rest} = {word}; {rest} != 0; {rest} &= {rest} - 1) {{",
            f"{indent}    const {loop.type} {loop.variable} = __ffs({rest}) - 1;",
            *(f"{indent}    {line}" for line in lines),
            f"{indent}}}",
        ]
    )
    reason = "the same bits are handled in the same order, without a test for each bit that is not set"
    yield Variant(
        "set bits only", (Edit(loop.node.start_byte, loop.node.end_byte, text),), site.lines(loop.node), reason
    )
    condition = bare(field(loop.node, "condition"))
    start = line_start(data, loop.node.start_byte)
    stop = Edit(condition.end_byte, condition.end_byte, f" && ({word} >> {loop.variable}) != 0")
    unroll = Edit(start, start, f"{indent}#pragma unroll 4\n")
    yield Variant(
        "up to the highest set bit",
        (stop,),
        site.lines(loop.node),
        "no bit above the highest set one is tested",
        preference=0.8,
    )
    if not data[start : loop.node.start_byte].strip():
        yield Variant(
            "up to the highest set bit, unrolled",
            (unroll, stop),
            site.lines(loop.node),
            "no bit above the highest set one is tested, and four are looked at together",
            preference=0.6,
        )
