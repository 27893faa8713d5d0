"""What a guardrail holds against a rewrite stands on a line of the file as changed, whatever moved there."""

from __future__ import annotations

from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.guardrails import examine
from optimas_lsp.rewrite.proposal import Change, FunctionText, Proposal

SOURCE = """#include <cstdio>

// Twice as much.
__device__ float twice(float x)
{
    return 2 * x;
}

__global__ void k(float* a, int n)
{
    // which element
    int i = threadIdx.x;  // of one block
    __syncthreads();
    if (i < n) a[i] = twice(a[i]);
}
"""
TWICE = """__device__ float twice(float x)
{
    float one = x;
    float two = one + x;
    return two;
}"""
K = """__global__ void k(float* a, int n)
{
    int i = threadIdx.x;
    __syncthreads();
    if (i < n) {
        __syncthreads();
        printf("%d", i);
        a[i] = twice(a[i]);
    }
}"""


def proposed(**texts: str) -> Proposal:
    functions = tuple(FunctionText(function=name, text=text) for name, text in texts.items())
    changes = tuple(
        Change(function=name, original_lines=(4, 5), evidence=("PC-1",), transformation="x", reason="y")
        for name in texts
    )
    return Proposal(functions=functions, changes=changes)


def held(verdict: Verdict, word: str) -> list[str]:
    """The messages of rules that are not passed, with this word."""
    return [rule.message for rule in verdict.rules if rule.status in {"fail", "flag"} and word in rule.message]


def line_with(proposal: Proposal, part: str, nth: int = 0) -> int:
    """The line of the changed file that holds ``part``."""
    lines = Candidate.of(SOURCE.encode(), proposal).edited.decode().split("\n")
    return [at for at, line in enumerate(lines, 1) if part in line][nth]


def test_the_line_is_that_of_the_changed_file_below_another_function_that_grew_and_comments_that_stayed() -> None:
    proposal = proposed(twice=TWICE, k=K)
    verdict = examine(SOURCE, proposal, name="k.cu")
    at = line_with(proposal, "printf")
    assert at == 18
    assert any(message.startswith(f"k.cu:{at} as changed: ") for message in held(verdict, "printf"))
    (offending,) = {line for rule in verdict.rules for line in rule.lines if "printf" in line.text}
    assert (offending.line, offending.file_line) == (7, at)


def test_a_line_that_a_message_mentions_is_of_the_changed_file_too() -> None:
    proposal = proposed(twice=TWICE, k=K)
    (message,) = held(examine(SOURCE, proposal), "under a condition")
    barrier, condition = line_with(proposal, "__syncthreads", 1), line_with(proposal, "if (i < n)")
    assert message.startswith(f"line {barrier} as changed: ")
    assert f"(line {condition})" in message


def test_a_text_that_fits_nowhere_is_told_by_its_own_lines() -> None:
    broken = SOURCE[: SOURCE.rindex("}")]  # the file's last function is left open, so nothing can be put there
    verdict = examine(broken, proposed(k=K))
    (message,) = held(verdict, "under a condition")
    assert message.startswith("line 6 of the new text of 'k': ")
    assert all(line.file_line is None for rule in verdict.rules for line in rule.lines)
