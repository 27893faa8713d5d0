"""Causes by construction: our own kernels, whose machine code was read by hand, with made-up samples on them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optimas_lsp.profile.model import CauseEdge, Profile
from optimas_lsp.sass.cubin import Cubin
from optimas_lsp.sass.decode import Instruction
from optimas_lsp.sass.enrich import enrich
from optimas_lsp.sass.flow import Flow, build
from optimas_lsp.sass.scoreboard import Setters
from optimas_lsp.sass.walk import Walker, issue_cycles

LOOP = dict.fromkeys(range(0x170, 0x260, 16), 100)
"""Execution counts of ``gather``: its loop runs 100 times."""


def edges(profile: Profile) -> dict[int, CauseEdge]:
    """Edges of the only sampled consumer by the producer's offset."""
    made = enrich(profile).kernels[0].code
    assert made.causes is not None
    return {made.offset[edge.producer]: edge for edge in made.causes}


def test_a_load_awaited_alone_is_certain(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "gather", stalls={(0x190, "long_scoreboard"): 50}, executed=LOOP))
    assert list(found) == [0x170]
    assert (found[0x170].confidence, found[0x170].kind, found[0x170].share) == ("certain", "raw", 1.0)


def test_a_load_before_the_loop_is_found_from_inside_it(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "gather", stalls={(0x210, "long_scoreboard"): 50}, executed=LOOP))
    assert list(found) == [0x120]


def test_two_consumers_of_two_barriers_have_a_cause_each(profile: Callable[..., Profile]) -> None:
    assert list(edges(profile("sm90", "gather", stalls={(0x1D0, "long_scoreboard"): 9}, executed=LOOP))) == [0x1A0]
    assert list(edges(profile("sm90", "gather", stalls={(0x1E0, "long_scoreboard"): 9}, executed=LOOP))) == [0x1B0]


def test_an_address_that_is_overwritten_waits_for_the_load_to_have_read_it(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "gather", stalls={(0x170, "long_scoreboard"): 9}, executed=LOOP))
    assert list(found) == [0x120]
    assert found[0x120].kind == "war"


def test_a_shared_store_waits_for_the_global_load_it_stores(profile: Callable[..., Profile]) -> None:
    assert list(edges(profile("sm90", "meet", stalls={(0xE0, "long_scoreboard"): 9}))) == [0x80]


def test_a_shuffle_is_the_cause_of_a_short_scoreboard_stall(profile: Callable[..., Profile]) -> None:
    assert list(edges(profile("sm90", "meet", stalls={(0x1B0, "short_scoreboard"): 9}))) == [0x1A0]


def test_loads_in_a_called_function_are_reached_from_inside_it(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "meet", stalls={(0x420, "long_scoreboard"): 9}))
    assert max(found, key=lambda at: found[at].share) == 0x390
    assert set(found) <= {0x390, 0x3A0, 0x3B0, 0x3C0}


def test_a_call_waits_for_the_store_before_it_to_have_read_its_operand(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "meet", stalls={(0x100, "short_scoreboard"): 9}))
    assert list(found) == [0xE0]
    assert found[0xE0].kind == "war"


def test_samples_behind_a_barrier_belong_to_it(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "meet", stalls={(0x100, "barrier"): 9}))
    assert list(found) == [0xF0]
    assert found[0xF0].kind == "sync"


def test_drain_on_the_address_behind_exit_belongs_to_the_last_stores(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "meet", stalls={(0x320, "drain"): 9}))
    assert set(found) == {0x300, 0x2E0}
    assert found[0x300].share > found[0x2E0].share
    assert {edge.kind for edge in found.values()} == {"drain"}


def test_branch_resolving_on_a_target_belongs_to_the_branches_that_lead_there(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "gather", stalls={(0x170, "branch_resolving"): 9}, executed=LOOP))
    assert max(found, key=lambda at: found[at].share) == 0x250


def test_a_fixed_latency_wait_belongs_to_the_producer_and_is_never_certain(profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "gather", stalls={(0x240, "wait"): 9}, executed=LOOP))
    assert list(found) == [0x210]
    assert found[0x210].confidence == "dominant"


@pytest.mark.parametrize("name", ["pipeline-sm80", "pipeline-sm90"])
def test_waiting_for_all_but_two_groups_belongs_to_the_copies_of_two_trips_before(
    name: str, profile: Callable[..., Profile], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    code = instructions(name, "pipeline")
    waiting = next(i for i in code if i.base == "DEPBAR")
    copies = [i.offset for i in code if i.base == "LDGSTS"]
    [back] = [i for i in code if i.base == "BRA" and i.target is not None and i.target < i.offset]
    assert waiting.partial == (0, 2)
    loop = dict.fromkeys(range(back.target or 0, back.offset + 16, 16), 50)
    found = edges(profile(name, "pipeline", stalls={(waiting.offset, "long_scoreboard"): 9}, executed=loop))
    assert set(found) == set(copies)
    assert max(found, key=lambda at: found[at].share) == copies[-1]
    assert found[copies[-1]].share == pytest.approx(0.96, abs=0.02)


def test_a_warpgroup_wait_belongs_to_the_product_it_waits_for(profile: Callable[..., Profile]) -> None:
    found = edges(profile("matrix-sm90a", "matrix", stalls={(0x110, "gmma"): 9}))
    assert list(found) == [0x100]
    assert found[0x100].kind == "sync"


def test_a_wait_at_an_mbarrier_belongs_to_the_question_whether_all_arrived(profile: Callable[..., Profile]) -> None:
    assert list(edges(profile("matrix-sm90a", "matrix", stalls={(0x150, "long_scoreboard"): 9}))) == [0x120]


def test_without_execution_counts_loops_are_assumed_to_repeat(profile: Callable[..., Profile]) -> None:
    made = profile("sm90", "gather", stalls={(0x170, "branch_resolving"): 9})
    kernel = made.kernels[0]
    bare = kernel.model_copy(
        update={"code": kernel.code.model_copy(update={"executed": None, "thread_executed": None})}
    )
    found = edges(made.model_copy(update={"kernels": (bare,)}))
    assert max(found, key=lambda at: found[at].share) == 0x250


@pytest.mark.parametrize("reason", ["lg_throttle", "math_pipe_throttle", "no_instructions", "imc_miss"])
def test_throttles_and_fetch_are_their_own_cause(reason: str, profile: Callable[..., Profile]) -> None:
    found = edges(profile("sm90", "gather", stalls={(0x1A0, reason): 9}))
    assert list(found) == [0x1A0]
    assert found[0x1A0].kind == "self"


@pytest.mark.parametrize("reason", ["selected", "not_selected", "dispatch_stall", "misc", "sleeping", "brand_new"])
def test_reasons_without_a_cause_get_none(reason: str, profile: Callable[..., Profile]) -> None:
    assert edges(profile("sm90", "gather", stalls={(0x1A0, reason): 9})) == {}


@pytest.mark.parametrize("name", ["sm75", "sm80-old", "sm80", "sm90", "sm120"])
def test_every_awaited_barrier_has_a_setter_on_every_architecture(
    name: str, cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    for section in cubin(name).sections.values():
        code = instructions(name, section.name)
        setters = Setters(Walker(build(code, section, None), code), issue_cycles(code))
        for instruction in code:
            if setters.awaited(instruction.index):
                assert setters.reaching(instruction.index), f"{section.name} {instruction.offset:#x}"


def flow_of(cubin: Cubin, code: tuple[Instruction, ...], name: str, counts: dict[int, int] | None = None) -> Flow:
    executed = [counts.get(i.offset, 1) for i in code] if counts else None
    return build(code, cubin.sections[name], executed)


def test_an_indirect_branch_reaches_its_listed_targets(
    cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    code = instructions("sm90", "choose")
    flow = flow_of(cubin("sm90"), code, "choose")
    assert flow.complete
    branch = next(i for i in code if i.base == "BRX")
    assert len(flow.after[flow.block_of[branch.index]]) >= 3


def test_a_call_returns_to_the_instruction_behind_it(
    cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    code = instructions("sm90", "meet")
    flow = flow_of(cubin("sm90"), code, "meet")
    behind = flow.before[flow.block_of[0x110 // 16]]
    assert [edge.kind for edge in behind] == ["return"]
    assert code[flow.blocks[behind[0].source].end - 1].base == "RET"


def test_loop_counts_weigh_the_edges_into_a_loop(
    cubin: Callable[[str], Cubin], instructions: Callable[[str, str], tuple[Instruction, ...]]
) -> None:
    flow = flow_of(cubin("sm90"), instructions("sm90", "gather"), "gather", LOOP)
    head = flow.block_of[0x170 // 16]
    weights = sorted(edge.weight for edge in flow.before[head])
    assert weights == [1.0, 99.0]
    assert flow.depth[head] == 1
