"""Numbers and names as people read them in the editor."""

from __future__ import annotations

import pytest

from optimas_lsp.server.wording import Markup, bar, duration, paragraphs, short_percent, without_parameters


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, ""), (0.001, "▏"), (0.05, "▌"), (0.5, "█████"), (0.86, "████████▋"), (1, "██████████"), (1.7, "██████████")],
)
def test_a_bar_is_never_empty_for_something_and_never_longer_than_whole(share: float, shown: str) -> None:
    assert bar(share) == shown


@pytest.mark.parametrize(
    ("share", "shown"), [(0.001, "0.1 %"), (0.094, "9.4 %"), (0.1, "10 %"), (0.864, "86 %"), (1, "100 %")]
)
def test_a_short_share_keeps_a_digit_only_where_it_says_something(share: float, shown: str) -> None:
    assert short_percent(share) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [(None, "unknown time"), (12, "12 ns"), (999.9, "1 µs"), (145_568, "146 µs"), (1_284_000, "1.28 ms"), (2e9, "2 s")],
)
def test_a_time_has_the_unit_that_fits(nanoseconds: float | None, shown: str) -> None:
    assert duration(nanoseconds) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("triad(float *, int)", "triad"),
        ("void ns::scale<(int)4, float>(T2 *)", "void ns::scale<(int)4, float>"),
        ("(anonymous namespace)::k(int)", "(anonymous namespace)::k"),
        ("softmax_kernel", "softmax_kernel"),
    ],
)
def test_a_kernels_name_goes_without_its_parameters(name: str, shown: str) -> None:
    assert without_parameters(name) == shown


def test_nothing_out_of_a_program_is_read_as_markup() -> None:
    markup = Markup(markdown=True)
    assert markup.escape("a*b | <T> [x] long_scoreboard _x_ `y`") == (
        r"a\*b \| \<T\> \[x\] long_scoreboard \_x\_ \`y\`"
    )
    assert markup.code("operator`") == "`operator'`"
    assert Markup(markdown=False).escape("a*b") == "a*b"


@pytest.mark.parametrize("markdown", [True, False])
def test_a_name_cannot_leave_its_code_span_nor_reach_a_terminal(markdown: bool) -> None:
    evil = "k\x1b[31m\x9b2J\r\n\n[click](command:run)\u202e\u2028x"
    markup = Markup(markdown=markdown)
    for shown in (markup.code(evil), markup.escape(evil)):
        assert shown.isprintable()
        assert "click" in shown


def test_a_bar_in_a_name_opens_no_column() -> None:
    markup = Markup(markdown=True)
    rows = markup.table(["a", "b"], [[markup.code("x|y"), markup.escape("x|y")]]).splitlines()
    assert rows[2] == r"| `x\|y` | x\|y |"


def test_a_table_lines_up_in_plain_text_and_has_a_rule_in_markdown() -> None:
    head, rows = ["reason", "samples", ""], [["wait", "7", "█"], ["long_scoreboard", "4,746", "██"]]
    plain = Markup(markdown=False).table(head, rows).splitlines()
    assert plain[1].index("7") == plain[2].index("6")
    assert plain[1].index("█") == plain[2].index("█")
    marked = Markup(markdown=True).table(head, rows).splitlines()
    assert marked[1] == "| --- | ---: | --- |"
    assert marked[3] == "| long_scoreboard | 4,746 | ██ |"


def test_paragraphs_leave_out_what_says_nothing() -> None:
    assert paragraphs(["a", "", "b"]) == "a\n\nb"
