"""Memory stays bounded however many launches a report has."""

from __future__ import annotations

import struct
import threading
from pathlib import Path

import psutil
import pytest
import zstandard

from optimas_lsp.profile.limits import MB, Limits
from optimas_lsp.profile.store import open_profile

SWEEP = Path(__file__).parents[2] / "samples/sweep/profile.ncu-repz"
TIMES = 10
RESULTS = 2
"""Number of the field of a block's header that says how many launches follow."""


def repeated(times: int) -> bytes:
    """The sweep's report with its launches ``times`` over: its blocks of results, whole, one round after the other."""
    data = zstandard.ZstdDecompressor().stream_reader(SWEEP.read_bytes()).read()
    blocks = list(_blocks(data))
    holding = [(start, end) for start, end, launches in blocks if launches]
    rounds = b"".join(data[start:end] for start, end in holding)
    return data[: holding[-1][1]] + rounds * (times - 1) + data[holding[-1][1] :]


def _blocks(data):
    """(start, end, launches) of each block."""
    at = 8 + struct.unpack_from("<I", data, 4)[0]
    while at < len(data):
        start = at
        size = struct.unpack_from("<I", data, at)[0]
        counts = _counts(data[at + 4 : at + 4 + size])
        at += 4 + size
        for _ in range(counts.get(1, 0) + counts.get(RESULTS, 0)):
            at += 4 + struct.unpack_from("<I", data, at)[0]
        yield start, at, counts.get(RESULTS, 0)


def _counts(header):
    """The first two numbers of a block's header, which come first and are small varints."""
    counts = {}
    at = 0
    while at + 1 < len(header) and header[at] in (0x08, 0x10) and header[at + 1] < 0x80:
        counts[header[at] >> 3] = header[at + 1]
        at += 2
    return counts


class Peak:
    """Watches from outside how much memory of its own (not of mapped files) any worker process has."""

    def __init__(self) -> None:
        self.mb = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(0.02):
            for child in me.children():
                try:
                    found = child.memory_info()
                    self.mb = max(self.mb, (found.rss - found.shared) / MB)
                except psutil.NoSuchProcess:
                    continue


@pytest.mark.full
@pytest.mark.timeout(600)
def test_ten_times_the_launches_need_no_more_memory(tmp_path):
    limits = Limits(workers=2, memory_limit_mb=520, slice_mb=400)
    once = open_profile(SWEEP, cache_dir=tmp_path / "cache", limits=limits)
    report = tmp_path / "many.ncu-rep"
    report.write_bytes(repeated(TIMES))
    with Peak() as peak:
        many = open_profile(report, cache_dir=tmp_path / "cache", limits=limits)
    assert 100 < peak.mb < 520
    assert len(many.launches) == TIMES * len(once.launches)
    assert [kernel.mangled for kernel in many.kernels] == [kernel.mangled for kernel in once.kernels]
    for a, b in zip(once.kernels, many.kernels, strict=True):
        assert a.code.sass == b.code.sass
        assert sum(b.samples.all_) == TIMES * sum(a.samples.all_)
        assert [TIMES * value for value in a.code.executed] == list(b.code.executed)
    counters = [launch.counters for launch in many.launches]
    assert counters[: len(once.launches)] == counters[-len(once.launches) :]
