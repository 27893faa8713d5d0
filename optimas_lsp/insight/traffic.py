"""Bytes at each memory level and operations of each precision, from whichever counters a report has.

Names differ between profiler versions and chips, so each quantity has alternatives, best first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.insight.readings import Readings

SECTOR_BYTES = 32
"""Bytes of one sector, the unit in which L2 counts its traffic."""


@dataclass(frozen=True)
class Rate:
    """An amount in one launch and the peak of that amount per second; ``pct`` is the achieved share instead.

    ``None`` is unknown. ``at_peak_s`` overrides what amount over peak gives where several peaks were mixed.
    """

    amount: float | None
    peak: float | None
    pct: float | None = None
    at_peak_s: float | None = None

    def seconds_at_peak(self, seconds: float) -> float | None:
        """The least time this amount takes, where the launch itself took ``seconds``."""
        if self.at_peak_s is not None:
            return self.at_peak_s
        if self.amount is not None and self.peak:
            return self.amount / self.peak
        return seconds * self.pct / 100 if self.pct is not None else None


def bytes_at(readings: Readings, level: Literal["dram", "l2", "l1"]) -> Rate:
    """Bytes a launch moved at one level, and the level's peak rate in bytes per second."""
    if level == "dram":
        return _dram(readings)
    return _l2(readings) if level == "l2" else _l1(readings)


def _dram(readings: Readings) -> Rate:
    amount = readings.total("dram__bytes")
    for parts in (("dram__bytes_read", "dram__bytes_write"), ("dram__bytes_op_read", "dram__bytes_op_write")):
        if amount is None:
            both = [readings.total(part) for part in parts]
            amount = sum(value for value in both if value is not None) if None not in both else None
    pct = readings.first(
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    )
    return Rate(amount, readings.peak("dram__bytes"), pct)


_GLOBAL = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}"
_SHARE = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
_OTHER_READS = (
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom",
    "l1tex__t_sectors_pipe_tex_mem_texture",
    "l1tex__t_sectors_pipe_tex_mem_surface_op_ld",
)
_OTHER_WRITES = (
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red",
    "l1tex__t_sectors_pipe_tex_mem_surface_op_st",
)
_FROM_DRAM = "lts__t_sectors_srcunit_tex_aperture_device_op_read_lookup_miss"
_AROUND_L1 = re.compile(r"^(sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts|.*_op_tma_).*$")


def useful_dram(readings: Readings) -> float | None:
    """DRAM bytes of a launch that the program asked for, where fewer than moved; None where that is not known.

    Written are at most the bytes that its stores hold: sectors that are written in part cross DRAM more than once.
    Read are at most what missed in L2 for the multiprocessors, the rest being such sectors read to be filled, and at
    most the bytes that its loads ask for. Other ways to memory count as whole sectors; where one is used that no
    counter here tells apart (asynchronous copies to shared memory), the loads are not counted.
    """
    read = _either(readings, "dram__bytes_read", "dram__bytes_op_read")
    write = _either(readings, "dram__bytes_write", "dram__bytes_op_write")
    missed = readings.total(_FROM_DRAM)
    stored = _asked(readings, "st", _OTHER_WRITES)
    if read is None or write is None or missed is None or stored is None:
        return None
    around = any(readings.total(stem) for stem in readings.columns.stems(_AROUND_L1))
    loaded = None if around else _asked(readings, "ld", _OTHER_READS)
    if any(readings.total(stem) for stem in readings.columns.stems(_AROUND_L1) if "_tma_" in stem):
        return None
    useful = min(write, stored) + min(read, missed * SECTOR_BYTES, read if loaded is None else loaded)
    return useful if useful < read + write else None


def _asked(readings: Readings, operation: str, others: tuple[str, ...]) -> float | None:
    """Bytes that loads or stores of global memory ask for, and whole sectors of the other kinds; None when unknown."""
    sectors, share = readings.total(_GLOBAL.format(operation)), readings.first(_SHARE.format(operation))
    more = [readings.total(name) for name in others]
    if sectors is None or (share is None and sectors > 0) or None in more:
        return None
    return sectors * (share or 0.0) + SECTOR_BYTES * sum(each for each in more if each is not None)


def _either(readings: Readings, *names: str) -> float | None:
    return next((value for value in map(readings.total, names) if value is not None), None)


def _l2(readings: Readings) -> Rate:
    amount, peak = readings.total("lts__t_bytes"), readings.peak("lts__t_bytes")
    pct = readings.first(
        "lts__t_bytes.sum.pct_of_peak_sustained_elapsed",
        "lts__t_sectors.sum.pct_of_peak_sustained_elapsed",
        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    )
    if amount is None:
        sectors = readings.total("lts__t_sectors")
        amount = sectors * SECTOR_BYTES if sectors is not None else None
    if amount is None and peak is None and pct is None:
        return Rate(readings.total("derived__lts__lts2xbar_bytes"), readings.peak("derived__lts__lts2xbar_bytes"))
    if peak is None and amount and pct and readings.seconds:
        peak = amount / readings.seconds / (pct / 100)
    return Rate(amount, peak, pct)


def _l1(readings: Readings) -> Rate:
    pct = readings.first("l1tex__lsu_writeback_active.avg.pct_of_peak_sustained_elapsed")
    for name in ("l1tex__t_bytes", "derived__l1tex__lsu_writeback_bytes_mem_lgds"):
        amount = readings.total(name)
        if amount is not None:
            return Rate(amount, readings.peak(name), pct)
    return Rate(None, None, pct)


_OPERATIONS: dict[str, tuple[tuple[str, int], ...]] = {
    "fp64": (("dadd", 1), ("dmul", 1), ("dfma", 2)),
    "fp32": (("fadd", 1), ("fmul", 1), ("ffma", 2), ("fadd2", 2), ("fmul2", 2), ("ffma2", 4)),
    "fp16": (("hadd", 2), ("hmul", 2), ("hfma", 4)),
}
"""Operations per thread-level instruction: an FMA counts two; half-precision and packed ones work on two values."""

_PEAK: dict[str, tuple[str, int]] = {"fp64": ("dfma", 2), "fp32": ("ffma", 2), "fp16": ("hfma", 4)}
_TENSOR = re.compile(r"^sm__ops_path_tensor_src_[a-z0-9_]+$")


def operations(readings: Readings, precision: Literal["fp64", "fp32", "fp16", "tensor"]) -> Rate:
    """Operations a launch did in one precision, and that precision's peak per second."""
    if precision == "tensor":
        return _tensor(readings)
    counted: list[float] = []
    for name, weight in _OPERATIONS[precision]:
        stem = f"sass_thread_inst_executed_op_{name}_pred_on"
        value = readings.total(f"sm__{stem}")
        if value is None:
            value = readings.total(f"smsp__{stem}")
        if value is not None:
            counted.append(value * weight)
    name, weight = _PEAK[precision]
    peak = readings.peak(f"sm__sass_thread_inst_executed_op_{name}_pred_on")
    return Rate(sum(counted) if counted else None, peak * weight if peak is not None else None)


def _tensor(readings: Readings) -> Rate:
    """All source types together; each has its own peak, so the least time is the sum of theirs."""
    amount, least, rated = 0.0, 0.0, True
    for name in readings.columns.stems(_TENSOR):
        value = readings.total(name)
        if not value:
            continue
        peak = readings.peak(name)
        amount += value
        rated = rated and peak is not None
        least += value / peak if peak else 0.0
    if not amount:
        return Rate(None, None)
    return Rate(amount, amount / least if rated and least > 0 else None)
