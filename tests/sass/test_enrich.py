"""Enriching a profile: chains and causes where the machine code allows, one note where it does not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.profile.model import Frame, Profile, SourceFile
from optimas_lsp.sass import disassembler
from optimas_lsp.sass.cubin import Cubin
from optimas_lsp.sass.decode import Instruction
from optimas_lsp.sass.enrich import enrich

STALL = {(0x190, "long_scoreboard"): 50}


def frames(profile: Profile, offset: int) -> list[tuple[str, int, str | None]]:
    code = profile.kernels[0].code
    chain = code.chains[code.chain[offset // 16]]
    return [(Path(profile.files[f.file].path).name, f.line, f.function) for f in chain]


def test_chains_run_from_the_innermost_line_to_the_kernel(profile: Callable[..., Profile]) -> None:
    made = enrich(profile("sm90", "gather", stalls=STALL))
    assert made.kernels[0].code.chains_from == "cubin"
    assert frames(made, 0x1B0) == [
        ("features.cu", 9, "fetch"),
        ("features.cu", 15, "both"),
        ("features.cu", 35, "gather"),
    ]


def test_a_function_that_was_not_inlined_is_linked_to_its_only_caller(profile: Callable[..., Profile]) -> None:
    made = enrich(profile("sm90", "meet", stalls=STALL))
    assert frames(made, 0x360) == [("features.cu", 22, "heavy"), ("features.cu", 47, "meet")]


def test_the_compilers_division_routine_is_given_to_the_line_that_divides(profile: Callable[..., Profile]) -> None:
    made = enrich(profile("sm90", "meet", stalls=STALL))
    assert frames(made, 0x600) == [("features.cu", 49, "meet")]


def test_functions_outside_the_kernels_section_keep_what_the_report_says(profile: Callable[..., Profile]) -> None:
    made = profile("sm90", "gather", stalls=STALL)
    kernel = made.kernels[0]
    far = 1 << 20
    code = kernel.code.model_copy(
        update={
            "offset": (*kernel.code.offset, far),
            "sass": (*kernel.code.sass, "FADD R0, R0, R1"),
            "chain": (*kernel.code.chain, 0),
            "chains": ((Frame(file=0, line=7),),),
            "executed": (*(kernel.code.executed or ()), 3),
            "thread_executed": (*(kernel.code.thread_executed or ()), 96),
        }
    )
    update = {"kernels": (kernel.model_copy(update={"code": code}),), "files": (SourceFile(path="other.cu"),)}
    found = enrich(made.model_copy(update=update)).kernels[0].code
    assert found.chains[found.chain[-1]] == (Frame(file=0, line=7),)
    assert found.causes


def test_modules_are_dropped_and_nothing_is_noted_when_all_went_well(profile: Callable[..., Profile]) -> None:
    made = enrich(profile("sm90", "gather", stalls=STALL))
    assert made.modules == ()
    assert made.notes == ()


def test_the_shares_of_one_stall_sum_to_at_most_one(profile: Callable[..., Profile]) -> None:
    made = enrich(profile("sm90", "meet", stalls={(0x420, "long_scoreboard"): 9}))
    causes = made.kernels[0].code.causes
    assert causes
    assert sum(edge.share for edge in causes) == pytest.approx(1.0, abs=1e-4)


def withheld(made: Profile, why: str) -> None:
    code = made.kernels[0].code
    assert code.causes is None
    assert made.kernels[0].samples.all_ == (50,)
    assert [note.code for note in made.notes] == ["causes-withheld"]
    assert why in made.notes[0].text


def test_without_machine_code_the_stalls_stay(profile: Callable[..., Profile]) -> None:
    withheld(enrich(profile("sm90", "gather", stalls=STALL, modules=())), "holds no machine code")


def test_damaged_machine_code_is_named(profile: Callable[..., Profile], cubin: Callable[[str], Cubin]) -> None:
    elf = cubin("sm90").elf
    withheld(enrich(profile("sm90", "gather", stalls=STALL, modules=(elf[: len(elf) // 2],))), "damaged")


def test_machine_code_of_another_build_is_not_believed(
    profile: Callable[..., Profile], cubin: Callable[[str], Cubin]
) -> None:
    made = enrich(profile("sm90", "gather", stalls=STALL, modules=(cubin("sm80").elf,)))
    withheld(made, "is not the code that ran")


def test_of_several_cubins_the_one_that_ran_is_taken(
    profile: Callable[..., Profile], cubin: Callable[[str], Cubin]
) -> None:
    modules = (cubin("sm80").elf, b"\x7fELFgarbage", cubin("sm90").elf)
    made = enrich(profile("sm90", "gather", stalls=STALL, modules=modules))
    assert made.kernels[0].code.causes
    assert made.notes == ()


def test_an_architecture_newer_than_the_decoder_is_said(
    profile: Callable[..., Profile], cubin: Callable[[str], Cubin]
) -> None:
    elf = bytearray(cubin("sm90").elf)
    elf[49] = 190
    withheld(enrich(profile("sm90", "gather", stalls=STALL, modules=(bytes(elf),))), "sm_190 is newer")


def test_an_unknown_opcode_does_not_hide_the_others(
    profile: Callable[..., Profile],
    cubin: Callable[[str], Cubin],
    instructions: Callable[[str, str], tuple[Instruction, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = list(disassembler.print_section(cubin("sm90"), cubin("sm90").sections["gather"]))
    strange = rows[0x1A0 // 16].opcode.replace("LDG", "FROB")
    rows[0x1A0 // 16] = disassembler.Printed(None, strange, rows[0x1A0 // 16].operands)
    monkeypatch.setattr(disassembler, "print_section", lambda *_: tuple(rows))
    sass = tuple(i.text.replace("LDG", "FROB") if i.offset == 0x1A0 else i.text for i in instructions("sm90", "gather"))
    stalls = {(0x1D0, "long_scoreboard"): 9, (0x190, "long_scoreboard"): 50}
    made = enrich(profile("sm90", "gather", stalls=stalls, sass=sass))
    causes = made.kernels[0].code.causes
    assert causes is not None
    assert {(16 * edge.consumer, 16 * edge.producer) for edge in causes} == {(0x190, 0x170), (0x1D0, 0x1A0)}


def test_an_instruction_that_cannot_be_decoded_is_said_where_it_hides_a_cause(
    profile: Callable[..., Profile],
    cubin: Callable[[str], Cubin],
    instructions: Callable[[str, str], tuple[Instruction, ...]],
) -> None:
    elf, code = cubin("sm90").elf, cubin("sm90").sections["gather"].code
    elf = elf.replace(code, code[:0x170] + b"\xff" * 16 + code[0x180:])
    sass = tuple("N/A" if each.offset == 0x170 else each.text for each in instructions("sm90", "gather"))
    made = enrich(profile("sm90", "gather", stalls=STALL, sass=sass, modules=(elf,)))
    assert made.kernels[0].samples.all_ == (50,)
    assert made.kernels[0].code.causes == ()
    [note] = made.notes
    assert note.code == "causes-incomplete"
    assert "100 % of the scoreboard stalls have no known cause: 1 of" in note.text


def test_a_stripped_line_table_keeps_the_causes_and_the_reports_own_lines(
    profile: Callable[..., Profile], cubin: Callable[[str], Cubin]
) -> None:
    elf = cubin("sm90").elf.replace(b".debug_line\0", b".hidden_line\0"[:12])
    made = enrich(profile("sm90", "gather", stalls=STALL, modules=(elf,)))
    assert made.kernels[0].code.causes
    assert made.kernels[0].code.chains_from == "report"


@pytest.mark.skipif(disassembler.executable() is None, reason="the disassembler's wheel is not installed")
def test_volta_is_decoded_from_the_reports_own_text(
    profile: Callable[..., Profile], cubin: Callable[[str], Cubin], tmp_path: Path
) -> None:
    section = cubin("sm70").sections["gather"]
    raw = tmp_path / "code"
    raw.write_bytes(section.code)
    address = 0x7F92397A0000
    said = subprocess.run(
        [str(disassembler.executable()), "-b", "SM75", "-base", hex(address), str(raw)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    sass = tuple(line.split("*/")[1].strip(" ;") for line in said.splitlines() if "/*" in line)
    assert any(hex(address)[:8] in text for text in sass)
    load = next(k for k, text in enumerate(sass) if text.startswith("LDG.E"))
    user = next(k for k, text in enumerate(sass) if text.startswith("IMAD.WIDE") and k > load)
    made = enrich(profile("sm70", "gather", stalls={(16 * user, "long_scoreboard"): 50}, sass=sass))
    causes = made.kernels[0].code.causes
    assert causes
    assert all(sass[edge.producer].startswith("LDG") for edge in causes)
    assert made.notes == ()


def test_damaged_cubins_never_raise(profile: Callable[..., Profile], cubin: Callable[[str], Cubin]) -> None:
    import random

    elf = cubin("sm90").elf
    dice = random.Random(7)
    for _ in range(12):
        hurt = bytearray(elf)
        for _ in range(dice.randint(1, 30)):
            hurt[dice.randrange(len(elf))] = dice.randrange(256)
        made = enrich(profile("sm90", "gather", stalls=STALL, modules=(bytes(hurt),)))
        assert made.kernels[0].samples.all_ == (50,)
