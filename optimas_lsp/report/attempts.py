"""Attempts of the corpus as text: one line each in a list, everything in detail, counts in tables."""

from __future__ import annotations

from collections.abc import Iterable

from optimas_lsp.corpus.imported import Removal
from optimas_lsp.corpus.model import Entry
from optimas_lsp.corpus.stats import Count, Stats
from optimas_lsp.corpus.store import Row
from optimas_lsp.report.rows import plain

SHOWN_ID = 12


def line(row: Row, likeness: float | None = None) -> str:
    """One attempt on one line: id, ending, effect, kernel, what was done."""
    entry = row.entry
    effect = entry.effect
    gain = "" if effect is None else f"{effect.speedup:.2f}x"
    near = "" if likeness is None else f"{likeness:.2f}  "
    what = " + ".join(entry.transformations) or "-"
    no = f"  ({', '.join(dict.fromkeys(each.kind for each in row.noes))})" if row.noes else ""
    name = entry.base_name or entry.kernel
    return plain(f"{near}{entry.key[:SHOWN_ID]}  {entry.ending:<10}  {gain:>6}  {name}  {what}{no}")


def details(row: Row) -> str:
    """Everything that is worth a look about one attempt."""
    entry = row.entry
    lines = [
        f"attempt  {entry.key}",
        f"ending   {entry.ending}: {entry.sentence}" if entry.sentence else f"ending   {entry.ending}",
        f"kernel   {entry.kernel}",
        f"file     {entry.file}" + (f" ({entry.origin.project})" if entry.origin.project else ""),
        f"licence  {entry.origin.licence or 'not known'}",
        f"GPU      {entry.device.name or 'not known'}"
        + (f", driver {entry.device.driver}" if entry.device.driver else ""),
        f"author   {_author(entry)}, {entry.date or 'date not known'}",
        f"from     {', '.join((*(['this machine'] if row.own else []), *row.datasets))}",
    ]
    lines += [f"time     {each}" for each in _times(entry)]
    lines += [f"no       {each.kind} {each.date[:10]}: {each.reason or 'no reason given'}" for each in row.noes]
    lines += _part("evidence", (_finding(entry, at) for at in range(len(entry.findings))))
    lines += _part(
        "steps", (f"{each.transformation} ({', '.join(each.evidence)}): {each.reason}" for each in entry.steps)
    )
    lines += _part("gates", (f"{each.status:<8}{each.name}: {each.sentence}" for each in entry.gates))
    lines += _part("not checked", entry.not_checked)
    lines += _part("explanation", entry.explanation)
    lines = [plain(each) for each in lines]
    lines += ["", entry.patch.rstrip("\n")] if entry.patch else []
    return "\n".join(lines) + "\n"


def counts(stats: Stats) -> str:
    """The tables of a corpus."""
    size = f"{stats.size_bytes / 2**20:.1f} MB"
    lines = [
        f"{stats.attempts:,} attempts on {stats.kernels:,} kernels, {stats.noes:,} refused by people, {size}",
        stats.path,
    ]
    for title in ("endings", "transformations", "rules", "authors", "devices"):
        found: tuple[Count, ...] = getattr(stats, title)
        if found:
            lines += ["", f"{title:<44}{'attempts':>9}{'proven':>9}"]
            lines += [
                f"  {plain(each.name[:40]) or 'not known':<42}{each.attempts:>9,}{each.proven:>9,}" for each in found
            ]
    if stats.datasets:
        lines += ["", f"{'came from':<44}{'attempts':>9}{'proven':>9}"]
        lines += [f"  {'this machine':<42}{stats.own:>9,}{stats.own_proven:>9,}"] if stats.own else []
        for each in stats.datasets:
            when = f"  imported {each.date[:10]}" if each.date else ""
            lines.append(
                f"  {plain(each.title[:40]):<42}{each.attempts:>9,}{each.proven:>9,}  {each.id[:SHOWN_ID]}{when}"
            )
    return "\n".join(lines) + "\n"


def removal(found: Removal, rows: Iterable[Row], *, done: bool) -> str:
    """What taking a dataset out does, or did: the attempts that go (``rows``: the first), what stays and why."""
    listed = [f"  {line(row)}" for row in rows]
    more = len(found.gone) - len(listed)
    lines = [
        plain(
            f"{found.dataset.title} ({found.dataset.id[:SHOWN_ID]}): {len(found.gone):,} attempts"
            f" {'were removed' if done else 'would go'}"
        )
    ]
    lines += listed
    lines += [f"  and {more:,} more"] if listed and more else []
    lines += [f"{found.own:,} stay, because they were made here, too"] if found.own else []
    lines += [f"{found.shared:,} stay, because another dataset holds them, too"] if found.shared else []
    lines += [f"{found.noes:,} times you said no to one that {'went' if done else 'would go'}"] if found.noes else []
    return "\n".join(lines) + "\n"


def _author(entry: Entry) -> str:
    author = entry.author
    model = f" ({author.model})" if author.model and author.model != author.backend else ""
    return f"{author.backend}{model}" + (f", evidence {author.subset}" if author.subset else "")


def _times(entry: Entry) -> Iterable[str]:
    if entry.timing is None:
        return
    for name, effect in (("kernel", entry.timing.kernel), ("program", entry.timing.program)):
        if effect is not None:
            yield (
                f"{name} {effect.before_ns / 1e6:.3f} -> {effect.after_ns / 1e6:.3f} ms, {effect.speedup:.3f}x"
                f" (95 % interval {effect.low:.3f} to {effect.high:.3f}, {entry.timing.pairs} pairs)"
            )


def _finding(entry: Entry, at: int) -> str:
    each = entry.findings[at]
    place = f" {each.file}:{each.line}" if each.file and each.line else ""
    share = f" {100 * each.share:.1f} ± {100 * each.margin:.1f} %" if each.samples else ""
    return f"{each.id} {each.rule}{place}{share}"


def _part(title: str, found: Iterable[str]) -> list[str]:
    rows = [f"  {each}" for each in found]
    return ["", title, *rows] if rows else []
