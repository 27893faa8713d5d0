"""The quality of causes as a table for the terminal: what is certain, dominant, shared, unknown, and by which means."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from optimas_lsp.insight.quality import KernelQuality, Shares, pooled
from optimas_lsp.report.rows import plain

COLUMNS = ("kernel", "samples", "certain", "dominant", "shared", "none", "one line", "def-use", "decoded", "moved")

CAPTION = (
    "Shares of scoreboard-stall samples (long and short). One line: one source line holds at least 90 % of the blame; "
    "def-use: the same from registers alone, then its share without any cause. Moved: samples shown at or blamed on a "
    "line of the program instead of a library's or a never-executed one."
)


def render_quality(title: str, kernels: Sequence[KernelQuality], target: Console) -> None:
    """Print one table for one report (or any other set of kernels), with a line for all of them together."""
    table = Table(title=plain(title), caption=CAPTION, title_justify="left", caption_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "kernel" else "right", overflow="fold")
    for kernel in kernels:
        table.add_row(*_row(kernel))
    if len(kernels) > 1:
        table.add_section()
        table.add_row(*_total(kernels))
    target.print(table)


def _row(kernel: KernelQuality) -> list[Text]:
    moved = kernel.moved_from_library + kernel.moved_from_never_executed
    shares = _shares(kernel.by_instruction, kernel.by_line, kernel.def_use_by_line)
    return _cells(kernel, kernel.base_name, kernel.scoreboard_samples, shares, moved)


def _total(kernels: Sequence[KernelQuality]) -> list[Text]:
    total = kernels[0].model_copy(
        update={
            "instructions": sum(kernel.instructions for kernel in kernels),
            "decoded": sum(kernel.decoded for kernel in kernels),
        }
    )
    pool = pooled(kernels)
    shares = _shares(pool["by_instruction"], pool["by_line"], pool["def_use_by_line"])
    moved = sum(kernel.moved_from_library + kernel.moved_from_never_executed for kernel in kernels)
    return _cells(total, "all", sum(kernel.scoreboard_samples for kernel in kernels), shares, moved)


def _cells(counted: KernelQuality, name: str, samples: int, shares: list[str], moved: int) -> list[Text]:
    shown = shares if samples else ["–"] * len(shares)
    decoded = f"{counted.decoded}/{counted.instructions}"
    return [Text(plain(cell)) for cell in (name, f"{samples:,}", *shown, decoded, f"{moved:,}")]


def _shares(sure: Shares, line: Shares | None, register: Shares | None) -> list[str]:
    return [
        *(_percent(each) for each in (sure.certain, sure.dominant, sure.shared, sure.none)),
        _percent(line.one) if line else "no lines",
        f"{_percent(register.one)}, {_percent(register.none)}" if register else "no lines",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
