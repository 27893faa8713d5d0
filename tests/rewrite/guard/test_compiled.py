"""After compiling: the same kernels with the same parameters, within the GPU's limits; real cubins of sm_90."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimas_lsp.profile.model import Device
from optimas_lsp.rewrite.guard.compiled import COMPILED_RULES, DeviceLimits, compiled_rules
from optimas_lsp.rewrite.guard.machine_code import kernels_of
from optimas_lsp.sass.cubin import CubinError

FOLDER = Path(__file__).parent / "compiled"
KERNEL = "_Z10scale_rowsPf5Shapei"


def cubin(name: str) -> bytes:
    return (FOLDER / f"{name}.cubin").read_bytes()


def found(name: str, **options: object) -> dict[str, str]:
    rules = compiled_rules(cubin("plain"), cubin(name), **options)  # type: ignore[arg-type]
    assert [rule.id for rule in rules] == list(COMPILED_RULES)
    return {rule.id: rule.status for rule in rules if rule.status != "pass"}


def test_the_facts_are_those_the_assembler_reports() -> None:
    plain = kernels_of(cubin("plain"))[KERNEL]
    assert plain.parameters == ((0, 8), (8, 16), (24, 4))
    assert (plain.parameter_bytes, plain.registers, plain.shared, plain.local) == (28, 12, 256, 0)
    spilling = kernels_of(cubin("spilling"))[KERNEL]
    assert (spilling.registers, spilling.local, spilling.maximum_threads) == (32, 272, 1024)
    assert spilling.spills


@pytest.mark.parametrize(
    ("variant", "rules"),
    [
        ("plain", {"unchanged-code": "fail"}),
        ("faster", {}),
        ("shared", {}),
        ("parameter", {"entry-points": "fail"}),
        ("renamed", {"entry-points": "fail"}),
        ("extra", {"entry-points": "fail"}),
        ("spilling", {"new-spills": "flag"}),
        ("local", {"new-spills": "flag"}),
        ("bounded", {"unchanged-code": "fail", "thread-limit": "fail"}),
    ],
)
def test_each_rule_sees_what_it_is_for(variant: str, rules: dict[str, str]) -> None:
    assert found(variant) == rules


def test_a_new_kernel_is_accepted_where_it_is_allowed() -> None:
    assert found("extra", allow=("kernels",)) == {}


def test_launch_bounds_are_compared_with_the_profiled_launches() -> None:
    assert found("bounded", blocks={KERNEL: 64}) == {"unchanged-code": "fail"}
    assert found("bounded", blocks={KERNEL: 128}) == {"unchanged-code": "fail", "thread-limit": "fail"}


def test_the_devices_limits_decide() -> None:
    small = DeviceLimits(registers=8_192, shared=32_768)
    assert found("shared", device=small) == {"shared-memory-limit": "fail"}
    assert found("faster", device=small, blocks={KERNEL: 1024}) == {"register-limit": "fail"}
    device = Device(name="GPU", compute_capability=(9, 0), attributes={"max_shared_memory_per_block": 32_768.0})
    assert found("shared", device=device) == {"shared-memory-limit": "fail"}


def test_another_parameter_layout_under_the_same_name_is_refused() -> None:
    data = cubin("plain")
    record = bytes.fromhex("04170c00000000000200180000f01100")
    assert data.count(record) == 1
    (rule,) = (
        rule
        for rule in compiled_rules(data, data.replace(record, record.replace(b"\x02\0\x18", b"\x02\0\x20")))
        if rule.id == "parameter-layout"
    )
    assert rule.status == "fail"
    assert "4 bytes at 24" in rule.message
    assert "4 bytes at 32" in rule.message


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"x" * 400, Path(__file__).read_bytes()])
def test_what_is_no_cubin_is_an_error(data: bytes) -> None:
    with pytest.raises(CubinError):
        compiled_rules(cubin("plain"), data)


def test_a_damaged_cubin_is_an_error_or_still_read() -> None:
    data = cubin("spilling")
    for at in range(0, len(data), 211):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        try:
            compiled_rules(data, damaged)
        except CubinError:
            continue
