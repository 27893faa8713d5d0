"""Where a rewrite's lines stand, and its edits at today's places, for any text and any way of counting characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.server.positions import whole_lines_range
from optimas_lsp.server.regions import Block, Edit, agree, moved, region, rewritten, standing, todays_edits, whole_lines
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import Change, Position, SourceText

KERNEL = "__global__ void k(float* p)\n{\n\tint i = threadIdx.x;  // \U0001d6fc\n\tp[i] *= 2;\n}\n"
OTHER = "static int helper(int x)\n{\n    return x;\n}\n"
LINE = "\tint i = threadIdx.x;  // \U0001d6fc\n"


def text_of(*parts: str, end: str = "\n") -> SourceText:
    return SourceText.of("".join(parts).replace("\n", end))


def made(text: SourceText, end: str = "\n") -> tuple[tuple[Block, ...], tuple[Edit, ...]]:
    """The region of the kernel, with an edit that makes two lines of one and one that adds a line."""
    first = text.lines.index("__global__ void k(float* p)") + 1
    edits = (
        Edit(first=first + 2, before=(LINE.replace("\n", end),), after=(f"\tint i = 0;{end}", f"\tint j = i;{end}")),
        Edit(first=first + 4, before=(), after=(f"\tp[0] = 1;{end}",)),
    )
    return rewritten(text, region(text, parse(text, "cuda"), [first + 3]), edits), edits


def applied(text: SourceText, edits: tuple[Edit, ...], encoding: str) -> str:
    """The text after the edits, as a client applies LSP edits: the last first."""
    for edit in reversed(edits):
        span = whole_lines_range(text, edit.first, len(edit.before), encoding)
        start, end = (Position(each.line + 1, each.character) for each in (span.start, span.end))
        text, _ = text.apply(Change("".join(edit.after), start, end), encoding)
    return text.text


def test_the_region_is_the_function_that_holds_the_line() -> None:
    text = text_of(OTHER, KERNEL)
    (block,) = region(text, parse(text, "cuda"), [6, 7])
    assert (block.first, "".join(block.before)) == (5, KERNEL)


@given(
    above=st.lists(st.sampled_from([OTHER, "// \U0001d6fc\n", "\n", "int a;\n"]), max_size=4),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_edits_above_move_the_rewrite_and_applying_it_changes_its_lines_alone(
    above: list[str], end: str, encoding: str
) -> None:
    base = text_of(OTHER, KERNEL, OTHER, end=end)
    blocks, edits = made(base, end)
    text, splice = base.apply(Change("".join(above).replace("\n", end), Position(1, 0), Position(1, 0)), encoding)
    hints = moved([each.first for each in blocks], [splice])
    stands = standing(text, blocks, hints)
    assert stands.fit == "before"
    after = applied(text, todays_edits(blocks, stands.firsts, edits), encoding)
    new = KERNEL.replace(LINE, "\tint i = 0;\n\tint j = i;\n").replace("\tp[i] *= 2;\n", "\tp[i] *= 2;\n\tp[0] = 1;\n")
    assert after == "".join([*above, OTHER, new, OTHER]).replace("\n", end)
    assert standing(SourceText.of(after), blocks, hints).fit == "after"


@given(at=st.integers(0, len(KERNEL) - 1), piece=st.sampled_from(["x", " ", "\t", "\n", "\r"]))
def test_any_edit_inside_is_noticed_and_undoing_it_too(at: int, piece: str) -> None:
    base = text_of(OTHER, KERNEL, OTHER)
    blocks, _ = made(base)
    changed = SourceText.of(OTHER + KERNEL[:at] + piece + KERNEL[at:] + OTHER)
    hints = [each.first for each in blocks]
    outside = (at == 0 and piece in "\n\r") or (at == len(KERNEL) - 1 and piece == "\n")  # a line in front or behind
    assert standing(changed, blocks, hints).fit == ("before" if outside else "other")
    assert standing(base, blocks, hints).fit == "before"


def test_line_ends_count_and_a_copy_elsewhere_is_not_taken_for_the_lines() -> None:
    base = text_of(OTHER, KERNEL)
    blocks, _ = made(base)
    assert standing(text_of(OTHER, KERNEL, end="\r\n"), blocks, [5]).fit == "other"
    twice = text_of(KERNEL, OTHER, KERNEL)
    assert standing(twice, blocks, [3]).fit == "other"
    assert standing(twice, blocks, [10]).firsts == (10,)


def test_a_last_line_without_an_end_is_whole() -> None:
    base = SourceText.of(KERNEL.rstrip("\n"))
    block = Block(first=1, before=whole_lines(base, 1, 6))
    assert standing(base, (block,), [1]).fit == "before"
    span = whole_lines_range(base, 5, 1, "utf-16")
    assert (span.start.line, span.end.line, span.end.character) == (4, 4, 1)


def test_lines_added_at_an_edge_are_applied_once() -> None:
    base = SourceText.of("#include <a>\n" + KERNEL)
    edits = (Edit(first=1, before=(), after=("#include <b>\n",)),)
    blocks = rewritten(base, region(base, parse(base, "cuda"), [4]), edits)
    assert agree(blocks, edits)
    text, splice = base.apply(Change("#include <b>\n", Position(1, 0), Position(1, 0)))
    hints = moved([each.first for each in blocks], [splice])
    assert standing(base, blocks, [each.first for each in blocks]).fit == "before"
    assert standing(text, blocks, hints, splice.inserted).fit == "after"
    assert standing(text, blocks, [each.first for each in blocks]).fit == "after"


def test_a_short_block_is_not_taken_for_the_same_lines_elsewhere() -> None:
    base = text_of("#define N 16\n", KERNEL, OTHER, "// old\n")
    edits = (Edit(first=1, before=("#define N 16\n",), after=("#define N 32\n",)),)
    blocks = rewritten(base, region(base, parse(base, "cuda"), [4]), edits)
    edited = text_of("#define N 8\n", KERNEL, OTHER, "#define N 16\n")
    assert standing(edited, blocks, [each.first for each in blocks]).fit == "other"
    shifted = text_of("// \n// \n", "#define N 16\n", KERNEL, OTHER)
    assert standing(shifted, blocks, [each.first for each in blocks]).fit == "before"


def test_a_copy_is_not_taken_for_the_kernel_that_was_edited() -> None:
    base = text_of(KERNEL)
    blocks, _ = made(base)
    edited = text_of(KERNEL.replace("*= 2", "*= 3"), "#if 0\n", KERNEL, "#endif\n")
    assert standing(edited, blocks, [1]).fit == "other"
    renamed = text_of(KERNEL.replace("float* p", "float* p, int n"), "#if 0\n", KERNEL, "#endif\n")
    assert standing(renamed, blocks, [1], longest=1).fit == "other"
    pasted = text_of(OTHER, KERNEL)
    assert standing(pasted, blocks, [1], longest=5).firsts == (5,)


def test_edits_that_the_lines_do_not_hold_are_found_out() -> None:
    base = text_of(OTHER, KERNEL)
    blocks, edits = made(base)
    assert agree(blocks, edits)
    (block,) = blocks
    assert not agree((block.model_copy(update={"after": (*block.before, "x\n")}),), edits)
    assert not agree(blocks, (*edits, Edit(first=1, before=("static int helper(int x)\n",), after=())))
    assert not agree(blocks, (edits[0].model_copy(update={"before": ("else\n",)}), edits[1]))
    assert not agree(blocks, (edits[0], edits[0]))
