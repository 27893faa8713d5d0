"""Printed instructions are believed only when the encodings show the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optimas_lsp.sass import disassembler
from optimas_lsp.sass.agreement import agreement, is_padding
from optimas_lsp.sass.cubin import Cubin
from optimas_lsp.sass.decode import Instruction, printed
from optimas_lsp.sass.pairing import MATCH

NAMES = ["sm75", "sm80-old", "sm80", "sm90", "sm120", "pipeline-sm80", "pipeline-sm90"]


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_fits_its_own_encoding(name: str, cubin: Callable[[str], Cubin]) -> None:
    for section in cubin(name).sections.values():
        rows = dict(enumerate(disassembler.print_section(cubin(name), section)))
        assert agreement(rows, section, cubin(name).architecture) == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_code_of_another_kernel_does_not_fit(
    name: str, cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    other = instructions("sm90" if name != "sm90" else "sm80", "meet")
    for section in cubin(name).sections.values():
        count = len(section.code) // 16
        rows = {at: printed(each.text) for at, each in enumerate(other[:count])}
        assert agreement(rows, section, cubin(name).architecture) < MATCH


def test_the_same_kernel_built_for_another_chip_does_not_fit(
    cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    for name in ("sm75", "sm80", "sm120"):
        section = cubin(name).sections["gather"]
        rows = {at: printed(each.text) for at, each in enumerate(instructions("sm90", "gather"))}
        rows = {at: row for at, row in rows.items() if at < len(section.code) // 16}
        assert agreement(rows, section, cubin(name).architecture) < MATCH


def test_nothing_printed_agrees_with_nothing(cubin: Callable[[str], Cubin]) -> None:
    assert agreement({}, cubin("sm90").sections["gather"], 90) == 0.0


def test_padding_is_told_from_code(
    cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    section = cubin("sm90").sections["gather"]
    for each in instructions("sm90", "gather"):
        assert is_padding(section.code[each.offset : each.offset + 16]) == (each.base == "NOP")
