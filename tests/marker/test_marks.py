"""The marks themselves: read, refused with a place, written and read again."""

import pytest

from tests.marker.marks import Mark, MarkError, parse_marks, with_marks, without_marks

TEXT = """\
x = a[i];
//@ diag("long_scoreboard", "86%") hint("86 %")
  //@ hover("it's (here)")
y = 2;

//@gone()
"""


def test_marks_speak_of_the_line_above_them() -> None:
    assert parse_marks(TEXT) == [
        Mark(1, "diag", ("long_scoreboard", "86%")),
        Mark(1, "hint", ("86 %",)),
        Mark(1, "hover", ("it's (here)",)),
        Mark(5, "gone", ()),
    ]
    assert parse_marks("def f():\n    #@ lens('f: 3 %')\n") == [Mark(1, "lens", ("f: 3 %",))]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('//@ diag("a", "1%")\n', "a.cu:1: a mark needs a line above it"),
        ("x\n//@ nonsense\n", "a.cu:2: not a mark: 'nonsense'"),
        ("x\n//@ squiggle('y')\n", "a.cu:2: there is no mark 'squiggle'"),
        ("x\n//@ diag('y')\n", "a.cu:2: diag takes 2 arguments, not 1"),
        ("x\n//@ hint(3)\n", "a.cu:2: arguments of hint must be strings"),
        ("x\n//@ hint(rule)\n", "a.cu:2: arguments of hint are not literals"),
        ("x\n//@ hint('a') and more\n", "a.cu:2: not a mark: 'and more'"),
    ],
)
def test_a_wrong_mark_is_named_with_its_place(text: str, says: str) -> None:
    with pytest.raises(MarkError, match=says.replace("(", r"\(")):
        parse_marks(text, "a.cu")


def test_taking_marks_out_and_writing_them_is_lossless() -> None:
    plain = without_marks(TEXT)
    assert plain == "x = a[i];\ny = 2;\n\n"
    written = with_marks(plain, {1: ['hint("1")', 'diag("wait", "2%")'], 2: ["gone()"]}, "//")
    assert without_marks(written) == plain
    assert [mark.line for mark in parse_marks(written)] == [1, 1, 3]
