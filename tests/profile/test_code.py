"""Where a kernel starts, what it consists of, and that two ways of finding out agree, on real reports."""

from __future__ import annotations

from pathlib import Path

import ncu_report
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from optimas_lsp.profile.readers.code import entry, from_cubin, from_listing
from optimas_lsp.profile.readers.container import open_container
from optimas_lsp.profile.readers.elf import code_of
from optimas_lsp.profile.readers.rules import plain

SAMPLES = Path(__file__).parents[2] / "samples"
REPORTS = ("stream", "stencil", "softmax_triton", "blame/called_function")


@pytest.fixture(scope="module", params=REPORTS)
def opened(request, tmp_path_factory):
    """A sample's container and its first launch in the native reader, with the address it says the kernel is at."""
    path = tmp_path_factory.mktemp("plain") / "r.ncu-rep"
    path.write_bytes(
        zstandard.ZstdDecompressor().stream_reader((SAMPLES / request.param / "profile.ncu-repz").read_bytes()).read()
    )
    action = ncu_report.load_report(str(path)).range_by_idx(0).action_by_idx(0)
    stated = action.metric_by_name("launch__function_pcs").as_uint64(0)
    return open_container(path), action, stated


def module_of(container, action, stated):
    """The module of the launch and its kernel's mangled name."""
    name = action.name(action.NameBase_MANGLED)
    return container.module_of(name, stated, None), name


def executed(action):
    """Every address that was executed."""
    metric = action.metric_by_name("inst_executed")
    ids = metric.correlation_ids()
    return [ids.as_uint64(at) for at in range(metric.num_instances())]


def test_the_lowest_executed_address_without_code_before_it_is_where_the_kernel_starts(opened):
    _, action, stated = opened
    assert entry(action, executed(action)) == stated


def test_the_start_is_found_even_if_only_the_middle_was_seen(opened):
    _, action, stated = opened
    assert entry(action, executed(action)[5:9]) == stated


def test_nothing_seen_means_nothing_known(opened):
    _, action, _ = opened
    assert entry(action, []) is None


def test_the_cubin_and_the_native_reader_show_the_same_function(opened):
    container, action, stated = opened
    source, name = module_of(container, action, stated)
    cubin = from_cubin(action, stated, code_of(source.elf, name), resolve=True)
    listed = from_listing(action, stated)
    assert (cubin.sass, cubin.place) == (listed.sass, listed.place)


def test_a_slice_that_resolves_nothing_knows_the_same_code_by_its_digest(opened):
    container, action, stated = opened
    source, name = module_of(container, action, stated)
    code = code_of(source.elf, name)
    whole, bare = (from_cubin(action, stated, code, resolve=resolve) for resolve in (True, False))
    assert bare.sha256 == whole.sha256
    assert list(bare.sass) == list(whole.sass)
    assert not any(bare.sass.values())
    assert not any(bare.place.values())


def test_code_met_outside_the_kernel_is_added_with_its_whole_function(opened):
    container, action, stated = opened
    others = [
        (name, address)
        for source in container.sources
        for name, address in source.functions.items()
        if address != stated and action.sass_by_pc(address)
    ]
    code = from_listing(action, stated)
    digest, size = code.sha256, len(code.sass)
    for _, address in others[:1]:
        code.add_stray(action, address + 16 - stated)
        assert address - stated in code.sass
        assert len(code.sass) > size
    assert code.sha256 == digest
    code.add_stray(action, -(10**9) // 16 * 16)
    assert code.sass[-(10**9) // 16 * 16] == ""


def test_a_module_is_found_by_name_and_address_or_else_by_reference(opened):
    container, action, stated = opened
    source, name = module_of(container, action, stated)
    assert source is not None
    assert container.module_of(name, stated + 16, None) is None
    assert container.module_of(name, stated + 16, 0) is source


@given(st.binary(max_size=400))
def test_bytes_that_are_no_elf_hold_no_code(noise):
    assert code_of(memoryview(noise), "f") is None


@example(where=47, byte=128)
@given(where=st.integers(0, 63), byte=st.integers(0, 255))
def test_a_damaged_header_is_survived(elf, where, byte):
    damaged = bytearray(elf)
    damaged[where] = byte
    code_of(memoryview(bytes(damaged)), "softmax_kernel")


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    """A real cubin."""
    path = tmp_path_factory.mktemp("elf") / "r.ncu-rep"
    packed = (SAMPLES / "softmax_triton/profile.ncu-repz").read_bytes()
    path.write_bytes(zstandard.ZstdDecompressor().stream_reader(packed).read())
    return bytes(open_container(path).sources[0].elf)


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("see @section:WarpStateStats:Warp State Statistics@.", "see Warp State Statistics."),
        ("@url:Profiling Guide:https://example.org/a.html#b@ says", "Profiling Guide says"),
        ("line @source:a.cu:12:twelve@, address @sass:0x10:sixteen@", "line twelve, address sixteen"),
        ("mail@example.org and 5 @ 3", "mail@example.org and 5 @ 3"),
    ],
)
def test_link_marks_leave_their_words(marked, words):
    assert plain(marked) == words
