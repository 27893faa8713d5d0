"""No text makes the guardrails fail or take long, and what they do not understand they do not accept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.guardrails import CORPUS, EVIDENCE, HERE, syntax_of, text_of
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.guard.rulebook import RULES, TRITON_RULES
from optimas_lsp.rewrite.guard.tokens import lex
from optimas_lsp.rewrite.guardrails import examine
from optimas_lsp.rewrite.proposal import Change, FunctionText, Proposal

KERNELS = CORPUS / "kernels.cu"
TRITON = HERE / "samples" / "softmax_triton" / "softmax_triton.py"
HEAD = "__global__ void saxpy(float a, const float* x, float* y, int n)\n{\n"
PIECES = st.sampled_from(
    [
        *"(){}[]<>;:,.=+-*/&|!?#\\'\"@$~%^ \n\t\r\0",
        *(
            "...",
            "::",
            "->",
            "<<<",
            ">>>",
            "/*",
            "*/",
            "//",
            "??/",
            "<%",
            '"',
            'R"x(',
            ')x"',
            "#define A",
            "#pragma unroll",
        ),
        *("if", "for", "while", "return", "template", "operator", "static", "asm", "struct", "auto", "goto", "const"),
        *(
            "a",
            "x[i]",
            "int i",
            "float4",
            "__shared__",
            "__syncthreads()",
            "atomicAdd",
            "saxpy",
            "0",
            "1.0f",
            "é",
            "\u202e",
        ),
    ]
)


def examined(text: str, function: str = "saxpy", *, triton: bool = False) -> Verdict:
    source = TRITON if triton else KERNELS
    change = Change(
        function=function, original_lines=(1, 2), evidence=("PC-1",), transformation="unroll", reason="the loop waits"
    )
    proposal = Proposal(functions=(FunctionText(function=function, text=text),), changes=(change,))
    return examine(text_of(source), proposal, syntax=syntax_of(source), evidence=EVIDENCE)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=40), st.booleans())
def test_no_text_makes_a_rule_fail(pieces: list[str], whole: bool) -> None:
    text = "".join(pieces)
    verdict = examined(text if whole else f"{HEAD}{text}\n}}")
    assert [rule.id for rule in verdict.rules] == [rule.id for rule in RULES]


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=40), st.booleans())
def test_no_text_makes_a_rule_for_triton_fail(pieces: list[str], whole: bool) -> None:
    head = "@triton.jit\ndef softmax_kernel(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):\n    "
    verdict = examined(("" if whole else head) + "".join(pieces), "softmax_kernel", triton=True)
    assert [rule.id for rule in verdict.rules] == [rule.id for rule in TRITON_RULES]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_the_lexer_takes_every_character_once(text: str) -> None:
    tokens = lex(text)
    place = 0
    for token in tokens:
        assert not text[place : token.start].strip(" \t\n\r\f\v")
        assert text.startswith(token.text, token.start)
        place = token.end
    assert not text[place:].strip(" \t\n\r\f\v")


@pytest.mark.parametrize(
    "piece", ["while(1) ", "for(;;) ", "static ", "asm ", "<<< ", "= ", "a<", "(", "{ ", "/* ", "template <"]
)
def test_a_text_made_to_take_long_does_not(piece: str) -> None:
    lines = [piece * (230 // len(piece))] * 240
    verdict = examined(HEAD + "\n".join(lines) + "\n}")
    assert not verdict.accepted


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "__syncthreads(); ",
        "for (;;) { if (a) break; __syncthreads(); } ",
        "((float*)x)[0] = 1; ",
        "float* p = (float*)x; ",
        "while (n == n) n++; ",
        "if (n < 5) return; ",
        "if (y) sizeof(y); ",
        "auto f = [](int k) { return k; }; ",
    ],
)
def test_many_of_what_a_rule_compares_with_each_other_do_not_take_long(piece: str) -> None:
    lines = [piece * (230 // len(piece))] * 240
    verdict = examined(HEAD + "\n".join(lines) + "\n}")
    assert verdict.rule("lost-output").status in {"pass", "fail"}


def test_a_text_beyond_every_limit_is_refused_by_its_size_alone() -> None:
    verdict = examined(HEAD + "y[0] = a;\n" * 100_000 + "}")
    assert [rule.id for rule in verdict.failures()] == ["oversize"]
    assert verdict.rule("unknown-call").status == "skipped"


def test_the_verdict_is_the_same_every_time() -> None:
    text = HEAD + "    y[0] = secret(a) + other(b);\n}"
    assert examined(text) == examined(text)
