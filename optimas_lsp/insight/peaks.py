"""Peak rates of known GPUs, used only where a report lacks its own; the table is data, ``peaks.toml``."""

from __future__ import annotations

import functools
import re
import tomllib
from importlib import resources
from typing import Any, cast

from optimas_lsp.profile.model import Frozen


class DevicePeaks(Frozen):
    """One row: dense TFLOP/s per precision and DRAM GB/s, from the vendor's datasheet."""

    match: str
    name: str
    fp64: float
    fp32: float
    fp16: float
    tensor: float
    dram: float

    def flop_per_s(self, precision: str) -> float:
        """Peak of one precision in FLOP per second."""
        return cast("float", getattr(self, precision)) * 1e12

    @property
    def dram_bytes_per_s(self) -> float:
        """Peak DRAM rate in bytes per second."""
        return self.dram * 1e9


@functools.cache
def _table() -> tuple[DevicePeaks, ...]:
    text = (resources.files("optimas_lsp.insight") / "peaks.toml").read_text("utf-8")
    rows = cast("list[dict[str, Any]]", tomllib.loads(text)["device"])
    return tuple(DevicePeaks(**row) for row in rows)


def find(device: str) -> DevicePeaks | None:
    """The row whose pattern is found in the device's name, or None for a GPU we have no figures of."""
    return next((row for row in _table() if re.search(row.match, device)), None)
