"""Whole inline chains from the line table, with function names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

import pytest

from optimas_lsp.sass import lines
from optimas_lsp.sass.cubin import Cubin, CubinError, LineProgram
from optimas_lsp.sass.names import plain


def short(chain: lines.Chain) -> list[tuple[str, int, str | None]]:
    return [(PurePosixPath(p.file).name, p.line, p.function and plain(p.function)) for p in chain]


@pytest.mark.parametrize("name", ["sm70", "sm75", "sm80-old", "sm80", "sm90", "sm120"])
def test_a_load_two_inlined_functions_deep_names_both_call_sites(name: str, cubin: Callable[[str], Cubin]) -> None:
    program = cubin(name).lines
    assert program is not None
    deepest = max(lines.read(program)["gather"].chains, key=len)
    assert short(deepest) in (
        [("features.cu", 9, "fetch"), ("features.cu", 14, "both"), ("features.cu", 35, None)],
        [("features.cu", 9, "fetch"), ("features.cu", 15, "both"), ("features.cu", 35, None)],
    )


def test_two_calls_of_one_function_keep_their_own_call_sites(cubin: Callable[[str], Cubin]) -> None:
    program = cubin("sm90").lines
    assert program is not None
    table = lines.read(program)["gather"]
    assert short(table.at(0x1A0))[1][1] == 14
    assert short(table.at(0x1B0))[1][1] == 15


def test_a_shuffle_intrinsic_leads_back_to_the_kernel(cubin: Callable[[str], Cubin]) -> None:
    program = cubin("sm90").lines
    assert program is not None
    chain = short(lines.read(program)["meet"].at(0x1A0))
    assert [place[2] for place in chain] == ["__shfl_xor_sync", None]
    assert chain[-1][:2] == ("features.cu", 48)


def test_before_the_first_row_nothing_is_known() -> None:
    assert lines.LineTable((16,), ((lines.Place("a", 1, None),),)).at(0) == ()


@pytest.mark.parametrize("cut", [1, 3, 7, 40, 200, 500])
def test_a_line_table_that_is_cut_off_is_refused(cut: int, cubin: Callable[[str], Cubin]) -> None:
    program = cubin("sm90").lines
    assert program is not None
    with pytest.raises(CubinError, match="line table"):
        lines.read(LineProgram(program.data[: len(program.data) - cut], program.strings, program.addresses))


def test_a_future_dwarf_version_is_refused(cubin: Callable[[str], Cubin]) -> None:
    program = cubin("sm90").lines
    assert program is not None
    data = program.data[:4] + (9).to_bytes(2, "little") + program.data[6:]
    with pytest.raises(CubinError, match="DWARF 9"):
        lines.read(LineProgram(data, program.strings, program.addresses))


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z5fetchIfET_PKS0_i", "fetch"),
        ("_ZN34_INTERNAL_8fc86c6b_4_a_cu_ea3211c015__shfl_xor_syncEjfii", "__shfl_xor_sync"),
        ("_ZN3cub11BlockReduceIfLi256ELNS_20BlockReduceAlgorithmE2ELi1ELi1EE3SumEf", "cub::BlockReduce::Sum"),
        ("_ZN8boundary6updateEPd4Grid", "boundary::update"),
        ("_ZNK4cuda3std5arrayIiLm4EEixEm", "cuda::std::array::operator[]"),
        ("$kernel$_Z5heavyPKfi", "heavy"),
        ("$__internal_0_$__cuda_sm20_div_rn_f64_full", "__cuda_sm20_div_rn_f64_full"),
        ("softmax_kernel", "softmax_kernel"),
        ("_Z", "_Z"),
        ("_Z99x", "x"),
    ],
)
def test_mangled_names_are_shortened_to_what_people_wrote(mangled: str, name: str) -> None:
    assert plain(mangled) == name
