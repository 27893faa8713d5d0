"""Cubins of both layouts are read; damaged ones are refused with a sentence."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import pytest

from optimas_lsp.sass import cubin as cubins
from optimas_lsp.sass.cubin import Cubin, CubinError

ARCHITECTURES = {"sm70": 70, "sm75": 75, "sm80-old": 80, "sm80": 80, "sm90": 90, "sm120": 120}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture_is_read_from_either_layout(name: str, cubin: Callable[[str], Cubin]) -> None:
    assert cubin(name).architecture == ARCHITECTURES[name]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_kernel_has_its_code(name: str, cubin: Callable[[str], Cubin]) -> None:
    sections = cubin(name).sections
    assert set(sections) == {"gather", "meet", "choose"}
    assert all(len(section.code) % 16 == 0 and section.code for section in sections.values())


def test_functions_that_were_not_inlined_are_symbols_in_the_kernels_section(cubin: Callable[[str], Cubin]) -> None:
    names = [symbol.name for symbol in cubin("sm90").sections["meet"].symbols]
    assert names[0] == "meet"
    assert "$meet$_Z5heavyPKfi" in names
    assert any("div_rn_f64" in name for name in names)


def test_callee_is_found_by_offset(cubin: Callable[[str], Cubin]) -> None:
    section = cubin("sm90").sections["meet"]
    heavy = next(symbol for symbol in section.symbols if "heavy" in symbol.name)
    assert section.callee_at(heavy.start) == heavy
    assert section.callee_at(0) is not None
    assert section.callee_at(0).name == "meet"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["sm70", "sm80-old", "sm90", "sm120"])
def test_targets_of_indirect_branches_are_listed(name: str, cubin: Callable[[str], Cubin]) -> None:
    targets = cubin(name).sections["choose"].branch_targets
    assert targets
    assert all(offset % 16 == 0 and len(reached) >= 2 for offset, reached in targets.items())


def test_a_cubin_of_another_machine_is_refused(cubin: Callable[[str], Cubin]) -> None:
    elf = bytearray(cubin("sm90").elf)
    elf[18:20] = (62).to_bytes(2, "little")
    with pytest.raises(CubinError, match="not for an NVIDIA GPU"):
        cubins.parse(bytes(elf))


def test_an_architecture_before_volta_is_refused(cubin: Callable[[str], Cubin]) -> None:
    elf = bytearray(cubin("sm80-old").elf)
    elf[48:52] = (0x3D0500 | 61).to_bytes(4, "little")
    with pytest.raises(CubinError, match="sm_61 is not decoded"):
        cubins.parse(bytes(elf))


@pytest.mark.parametrize("length", [0, 3, 16, 63, 64, 100, 1000, 5000, 15000])
def test_a_truncated_cubin_is_refused_with_a_sentence(length: int, cubin: Callable[[str], Cubin]) -> None:
    with pytest.raises(CubinError, match=r"damaged|cut off"):
        cubins.parse(cubin("sm90").elf[:length])


def test_flipped_bytes_never_escape_as_anything_but_a_cubin_error(cubin: Callable[[str], Cubin]) -> None:
    elf = cubin("sm90").elf
    dice = random.Random(20261201)
    for _ in range(300):
        hurt = bytearray(elf)
        for _ in range(dice.randint(1, 8)):
            hurt[
                dice.choice((dice.randrange(64), dice.randrange(len(elf) - 2000, len(elf)), dice.randrange(len(elf))))
            ] ^= 1 << dice.randrange(8)
        with contextlib.suppress(CubinError):
            cubins.parse(bytes(hurt))
