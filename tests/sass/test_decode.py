"""Instructions are read with registers, control words and branch targets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optimas_lsp.sass import disassembler
from optimas_lsp.sass.cubin import Cubin, CubinError
from optimas_lsp.sass.decode import Instruction, control, decode, displacement, printed
from optimas_lsp.sass.operands import PREDICATE, UNIFORM, UNIFORM_PREDICATE, effects, registers, run, semantics, split

DISASSEMBLED = ["sm75", "sm80-old", "sm80", "sm90", "sm120"]


def names(registers_: int) -> set[str]:
    found: set[str] = set()
    for bit in range(registers_.bit_length()):
        if registers_ >> bit & 1:
            for base, letters in ((UNIFORM_PREDICATE, "UP"), (PREDICATE, "P"), (UNIFORM, "UR"), (0, "R")):
                if bit >= base:
                    found.add(f"{letters}{bit - base}")
                    break
    return found


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("LDG.E R8, desc[UR6][R4.64+0x190]", "R8", "R4 R5 UR6 UR7"),
        ("LDG.E.128.CONSTANT R8, desc[UR6][R4.64]", "R8 R9 R10 R11", "R4 R5 UR6 UR7"),
        ("LDG.E.SYS R0, [R2]", "R0", "R2 R3"),
        ("LDG.E.64 R2, [R2.64+UR4]", "R2 R3", "R2 R3 UR4"),
        ("STG.E.64 desc[UR6][R4.64], R2", "", "R2 R3 R4 R5 UR6 UR7"),
        ("STS [R5+0x10], R2", "", "R2 R5"),
        ("LDS.128 R4, [UR4+R2]", "R4 R5 R6 R7", "R2 UR4"),
        ("LDSM.16.M88.4 R12, [R0]", "R12 R13 R14 R15", "R0"),
        ("LDGSTS.E.BYPASS.128 [R15], desc[UR6][R24.64]", "", "R15 R24 R25 UR6 UR7"),
        ("ATOMG.E.CAS.64.STRONG.GPU PT, R6, desc[UR4][R2.64], R4, R8", "R6 R7", "R2 R3 R4 R5 R8 R9 UR4 UR5"),
        ("REDG.E.ADD.STRONG.GPU desc[UR6][R2.64], R5", "", "R2 R3 R5 UR6 UR7"),
        ("@!P0 BRA 0xb40", "", "P0"),
        ("@P0 BRA P1, 0x330", "", "P0 P1"),
        ("IADD3 R4, P0, P1, R6, UR8, R7", "R4 P0 P1", "R6 R7 UR8"),
        ("IADD3.X R5, R9, UR5, RZ, P0, !P3", "R5", "R9 UR5 P0 P3"),
        ("LEA.HI.X R5, R6, UR9, R7, 0x3, P0", "R5", "R6 R7 UR9 P0"),
        ("IMAD.WIDE R2, R10, 0x4, R2", "R2 R3", "R10 R2 R3"),
        ("IMAD.WIDE.U32 R24, P0, R5, 0x2, R24", "R24 R25 P0", "R5 R24 R25"),
        ("ISETP.GE.AND P0, PT, R13, 0x1, P2", "P0", "R13 P2"),
        ("PLOP3.LUT P1, P2, P0, P3, PT, 0x8, 0x0", "P1 P2", "P0 P3"),
        ("DFMA R12, -R6, R2, 1", "R12 R13", "R6 R7 R2 R3"),
        ("DSETP.GT.AND P0, PT, |R2|, R4, PT", "P0", "R2 R3 R4 R5"),
        ("F2F.F64.F32 R6, R0", "R6 R7", "R0"),
        ("F2F.F32.F64 R0, R6", "R0", "R6 R7"),
        ("F2I.F64.TRUNC R0, R2", "R0", "R2 R3"),
        ("F2I.S64.F64.TRUNC R2, R4", "R2 R3", "R4 R5"),
        ("I2F.F64.S64 R2, R4", "R2 R3", "R4 R5"),
        ("MUFU.RCP64H R3, R7", "R3", "R7"),
        ("SHFL.BFLY P1, R3, R14, 0x3, 0x1f", "P1 R3", "R14"),
        ("VOTE.ANY R20, PT, P0", "R20", "P0"),
        ("VOTE.ANY P1, P0", "P1", "P0"),
        ("R2P PR, R0, 0x7f", "P0 P1 P2 P3 P4 P5 P6", "R0"),
        ("CS2R R8, SRZ", "R8 R9", ""),
        ("CS2R.32 R8, SR_CLOCKLO", "R8", ""),
        ("HMMA.16816.F32 R4, R12.reuse, R18, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R12 R13 R14 R15 R18 R19"),
        ("HMMA.16816.F16 R4, R12, R18, R4", "R4 R5", "R4 R5 R12 R13 R14 R15 R18 R19"),
        ("IMMA.16832.S8.S8 R4, R12.ROW, R18.COL, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R12 R13 R14 R15 R18 R19"),
        ("DMMA.884 R4, R8, R10, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R10 R11"),
        ("UIADD3 UR4, UP0, UR5, UR6, URZ", "UR4 UP0", "UR5 UR6"),
        ("LDC.64 R12, c[0x0][R3]", "R12 R13", "R3"),
        ("FFMA2 R4, R6.F32x2.HI_LO, R8.F32x2.HI_LO, R10.F32x2.HI_LO", "R4 R5", "R6 R7 R8 R9 R10 R11"),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3", "P0", "R3 UR4"),
        ("EXIT", "", ""),
    ],
)
def test_registers_written_and_read(text: str, written: str, read: str) -> None:
    row = printed(text)
    base, *modifiers = row.opcode.split(".")
    found = effects(base, tuple(modifiers), row.guard, split(row.operands))
    assert names(found.writes) == set(written.split())
    assert names(found.reads) == set(read.split())


def test_a_warpgroup_product_writes_its_whole_accumulator() -> None:
    found = effects("HGMMA", ("64x128x16", "F32"), None, ("R24", "gdesc[UR4]", "R24", "gsb0"))
    assert found.writes == run(24, 64)


def test_an_unlisted_opcode_writes_its_first_operand() -> None:
    assert not semantics("FROB").known
    found = effects("FROB", (), None, ("R4", "R2", "UR8"))
    assert (names(found.writes), names(found.reads)) == ({"R4"}, {"R2", "UR8"})


def test_constant_registers_are_no_registers() -> None:
    assert registers("RZ", 2) == registers("URZ", 1) == registers("PT", 1) == registers("SR_TID.X", 1) == 0


@pytest.mark.parametrize(("modifiers", "size"), [(("E",), 4), (("E", "64"), 8), (("E", "128"), 16), (("E", "U8"), 1)])
def test_bytes_moved_by_an_access(modifiers: tuple[str, ...], size: int) -> None:
    assert effects("LDG", modifiers, None, ("R0", "desc[UR4][R2.64]")).bytes_per_thread == size


def test_the_control_word_of_a_load_and_its_consumer() -> None:
    load = bytes.fromhex("81790804060000000019 1e0c00a20e00".replace(" ", ""))
    found = control(load)
    assert (found.write, found.read, found.wait, found.stall) == (2, None, 0, 1)


def test_waits_and_barriers_of_a_real_kernel(instructions: Callable[[str, str], tuple[Instruction, ...]]) -> None:
    code = {i.offset: i for i in instructions("sm90", "gather")}
    assert code[0x120].opcode == "LDG.E.CONSTANT"
    assert (code[0x120].control.write, code[0x120].control.read) == (5, 1)
    assert code[0x210].control.wait == 1 << 5
    assert code[0x250].target == 0x170
    assert code[0x250].conditional


@pytest.mark.parametrize("name", DISASSEMBLED)
@pytest.mark.parametrize("kernel", ["gather", "meet", "choose"])
def test_every_opcode_of_the_kernels_is_known(
    name: str, kernel: str, instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    assert {i.base for i in instructions(name, kernel) if not i.semantics.known} == set()


@pytest.mark.parametrize("name", DISASSEMBLED)
def test_branch_distances_in_the_encoding_equal_the_printed_ones(
    name: str, cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    checked = 0
    for section in cubin(name).sections.values():
        starts = {symbol.name: symbol.start for symbol in section.symbols}
        for i in instructions(name, section.name):
            target = starts.get(i.calls) if i.calls else i.target
            if target is not None:
                code = section.code[i.offset : i.offset + 16]
                assert i.offset + 16 + displacement(code, cubin(name).architecture) == target, i.text
                checked += 1
    assert checked > 20


def test_addresses_of_the_process_that_ran_are_replaced_by_the_encoding(cubin: Callable[[str], Cubin]) -> None:
    section = cubin("sm90").sections["gather"]
    rows = [printed("NOP")] * (len(section.code) // 16)
    rows[0x250 // 16] = printed("@!P0 BRA `(.L_x_0) 0x7f92397a2170")
    assert decode(rows, section.code, 90)[0x250 // 16].target == 0x170


@pytest.mark.parametrize("text", ["", "???", "123", "lower case R0", "@P9 MOV R0, R1"])
def test_what_is_no_instruction_is_refused(text: str) -> None:
    with pytest.raises(CubinError, match="not an instruction"):
        printed(text)


GOOD = b'[{"SM":1},[{"function-name":"gather","sass-instructions":[{"opcode":"NOP"}]}]]'


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "printed nothing"),
        (b'[[{"function-name":"other"}]]', "printed nothing"),
        (b'[[{"function-name":"gather","sass-instructions":7}]]', "no instructions"),
        (GOOD, "printed 1 instructions"),
        (b'[[{"function-name":"gather","sass-instructions":[7]}]]', "that is none"),
        (b'[[{"function-name":"gather","sass-instructions":[{"opcode":"a;rm"}]}]]', "that is none"),
        (b'[[{"function-name":"gather","sass-instructions":[{"opcode":"NOP","predicate":"x"}]}]]', "guard"),
    ],
)
def test_hostile_output_of_the_disassembler_is_refused(output: bytes, said: str, cubin: Callable[[str], Cubin]) -> None:
    with pytest.raises(CubinError, match=said):
        disassembler.read_json(output, cubin("sm90").sections["gather"])


def test_volta_is_refused_by_todays_disassembler(cubin: Callable[[str], Cubin]) -> None:
    with pytest.raises(CubinError, match="SM70"):
        disassembler.print_section(cubin("sm70"), cubin("sm70").sections["gather"])
