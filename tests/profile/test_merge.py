"""Joining the profiles of slices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.profile.consistency import first_flaw
from optimas_lsp.profile.job import cut
from optimas_lsp.profile.merge import merge
from optimas_lsp.profile.model import (
    Code,
    Device,
    Frame,
    Kernel,
    Launch,
    MetricInfo,
    Module,
    Note,
    Profile,
    RuleResult,
    Samples,
    SourceFile,
    Tool,
)

NAMES = ("_Z3addPf", "_Z3addPd", "softmax_kernel")
REASONS = ("long_scoreboard", "wait", "selected", "barrier")
PATHS = ("/a.cu", "/b.cuh", "<string>")
METRICS = ("gpu__time_duration.sum", "inst_executed", "launch__registers_per_thread")
SIZE = 4


@st.composite
def one_launch(draw, index: int) -> Profile:
    """The profile of a slice that holds launch ``index`` only, its tables in an order of its own."""
    which = draw(st.integers(0, len(NAMES) - 1))
    reasons = draw(st.permutations(REASONS))
    metrics = draw(st.permutations(METRICS))[: draw(st.integers(1, 3))]
    files = draw(st.permutations(PATHS))
    cells = draw(
        st.dictionaries(
            st.tuples(st.integers(0, SIZE - 1), st.integers(0, len(REASONS) - 1)),
            st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
            max_size=5,
        )
    )
    # Some launches call a function outside the kernel; some slices know neither text nor lines.
    outside = draw(st.sampled_from([(), (-64,), (4096,)]))
    offsets = tuple(sorted((*range(0, 16 * SIZE, 16), *outside)))
    known = draw(st.booleans())
    inside = [at for at, offset in enumerate(offsets) if offset not in outside]
    chains = tuple((Frame(file=files.index(PATHS[at % 3]), line=at + 1),) for at in range(2))
    counts = tuple(draw(st.lists(st.integers(0, 50), min_size=len(offsets), max_size=len(offsets))))
    # A place must have the same line in every slice: derive it from the offset alone.
    lines = {offset: (offset // 16) % 2 for offset in offsets}
    chain = tuple(-1 if (offset in outside or not known) else lines[offset] for offset in offsets)
    columns = [(inside[at], reason, *pair) for (at, reason), pair in cells.items() if any(pair)]
    instruction, reason, every, idle = zip(*columns, strict=True) if columns else ((), (), (), ())
    kernel = Kernel(
        mangled=NAMES[which],
        name=NAMES[which],
        base_name="add",
        code=Code(
            sha256=f"{which}",
            offset=offsets,
            sass=tuple("" if offset in outside or not known else f"OP{offset}" for offset in offsets),
            chain=chain,
            chains=chains,
            executed=counts,
            metrics={"memory_l2": counts} if draw(st.booleans()) else {},
        ),
        samples=Samples(instruction=instruction, reason=reason, all_=every, not_issued=idle),
    )
    rules = tuple(
        RuleResult(identifier=name, section="S", title=name, message="m", severity="info")
        for name in draw(st.permutations(("r1", "r2")))
    )
    return Profile(
        distiller="test",
        report_name="r",
        report_sha256="0" * 64,
        report_bytes=1,
        tool=Tool(name="ncu", version="1"),
        device=Device(name="d", compute_capability=(9, 0)),
        metrics=tuple(MetricInfo(name=name, unit="u") for name in metrics),
        reasons=reasons,
        files=tuple(SourceFile(path=path) for path in files),
        rules=rules,
        kernels=(kernel,),
        launches=(
            Launch(
                index=index,
                kernel=0,
                grid=(1, 1, 1),
                block=(1, 1, 1),
                duration_ns=1.0,
                counters=tuple(float(at) for at in range(len(metrics))),
                rules=(0,),
                samples_total=sum(every),
                samples_not_issued=sum(idle),
            ),
        ),
        modules=(Module(sha256=str(which), elf=b"\x7fELF" + bytes([which])),),
        notes=(Note(code="n", text=NAMES[which]),),
    )


launches = st.integers(1, 6).flatmap(lambda count: st.tuples(*(one_launch(at) for at in range(count))))


@given(launches, st.data())
def test_the_result_does_not_depend_on_the_slicing(parts, data):
    whole = merge(parts)
    if len(parts) > 1:
        at = data.draw(st.integers(1, len(parts) - 1))
        assert merge([merge(parts[:at]), merge(parts[at:])]) == whole
    assert merge(data.draw(st.permutations(parts))) == whole
    assert first_flaw(whole) is None


@given(launches)
def test_nothing_is_lost_and_nothing_counted_twice(parts):
    whole = merge(parts)
    for name in NAMES:
        before = [part.kernels[0] for part in parts if part.kernels[0].mangled == name]
        after = [kernel for kernel in whole.kernels if kernel.mangled == name]
        assert len(after) == bool(before)
        for kernel in after:
            assert sum(kernel.samples.all_) == sum(sum(item.samples.all_) for item in before)
            assert sum(kernel.code.executed) == sum(sum(item.code.executed) for item in before)
    assert [launch.index for launch in whole.launches] == list(range(len(parts)))


@given(launches)
def test_scalar_counters_stay_with_their_launch(parts):
    whole = merge(parts)
    for launch, part in zip(whole.launches, parts, strict=True):
        found = {
            info.name: value for info, value in zip(whole.metrics, launch.counters, strict=True) if value is not None
        }
        said = zip(part.metrics, part.launches[0].counters, strict=True)
        assert found == {info.name: value for info, value in said}
        assert whole.rules[launch.rules[0]] == part.rules[0]


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 8), st.integers(1, 20))
def test_slices_cover_every_launch_once(start, length, pieces, fewest):
    slices = cut(start, start + length, pieces, fewest)
    assert [at for a, b in slices for at in range(a, b)] == list(range(start, start + length))
    assert len(slices) <= pieces
    assert len(slices) == 1 or all(b - a >= fewest for a, b in slices)


def test_merging_nothing_is_refused():
    with pytest.raises(IndexError):
        merge([])
