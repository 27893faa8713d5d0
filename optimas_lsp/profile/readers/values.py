"""Single values of one launch as the native reader gives them: counters, dimensions, durations, the device."""

from __future__ import annotations

import math
from typing import Any

from optimas_lsp.profile.model import Device

ATTRIBUTE = "device__attribute_"
"""Counters kept once in ``Device.attributes``, not with every launch."""

_NS = {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}
"""Nanoseconds in each unit of time the profiler uses."""


def finite(value: float) -> float | None:
    """``value``, None for NaN and infinities: not collected, never 0."""
    return value if math.isfinite(value) else None


def number(metrics: dict[str, Any], name: str) -> float | None:
    """A counter's value; None when it is absent, was not collected or is no finite number."""
    metric = metrics.get(name)
    return finite(metric.as_double()) if metric is not None and metric.has_value() else None


def first(metrics: dict[str, Any], name: str) -> int | None:
    """A counter's first instance, None when it has none."""
    metric = metrics.get(name)
    return metric.as_uint64(0) if metric is not None and metric.num_instances() else None


def dimensions(metrics: dict[str, Any], prefix: str) -> tuple[int, int, int]:
    """The three counters ``prefix`` + x, y, z; 0 where unknown."""
    x, y, z = (int(number(metrics, prefix + axis) or 0) for axis in "xyz")
    return x, y, z


def duration_ns(metrics: dict[str, Any]) -> float | None:
    """The launch's duration in nanoseconds, None when it was not collected."""
    name = next((item for item in ("gpu__time_duration.sum", "gpu__time_duration.avg") if item in metrics), "")
    value = number(metrics, name)
    scale = _NS.get(metrics[name].unit()) if value is not None else None
    return None if value is None or scale is None else value * scale


def interval_ns(metrics: dict[str, Any]) -> float | None:
    """Time between two samples of one scheduler: the interval in cycles over the measured SM clock."""
    cycles = number(metrics, "smsp__pcsamp_interval_cycles")
    clock = number(metrics, "sm__cycles_elapsed.avg.per_second")
    return None if cycles is None or not clock else cycles / clock * 1e9


def device(attributes: dict[str, Any], string_kind: int) -> Device:
    """The GPU, from the ``device__attribute_*`` counters of one launch."""
    values: dict[str, float | str] = {}
    for name, metric in attributes.items():
        short = name.removeprefix(ATTRIBUTE)
        if metric.kind() == string_kind:
            values[short] = metric.as_string() or ""
        elif (value := number(attributes, name)) is not None:
            values[short] = value
    major, minor = (int(values.get(f"compute_capability_{part}", 0)) for part in ("major", "minor"))
    return Device(
        name=str(values.get("display_name", "unknown")),
        compute_capability=(major, minor),
        attributes=dict(sorted(values.items())),
    )
