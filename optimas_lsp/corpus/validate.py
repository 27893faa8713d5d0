"""Checks a dataset as a stranger would: every row, the manifest, both forms alike, and no kin across splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from optimas_lsp.corpus import parquet
from optimas_lsp.corpus.card import card
from optimas_lsp.corpus.dataset import (
    DatasetError,
    Manifest,
    Problem,
    Published,
    as_file,
    digest_of_file,
    read_manifest,
    rows_of,
)
from optimas_lsp.corpus.families import families_of
from optimas_lsp.profile.model import Frozen


class Checked(Frozen):
    """What the validator found. ``notes`` are no problems, but worth knowing."""

    rows: int
    families: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


def validate(folder: Path) -> Checked:
    """Every problem of the dataset in ``folder``; raises DatasetError where there is none."""
    manifest = read_manifest(folder)
    problems: list[Problem] = []
    notes: list[str] = []
    rows: dict[str, list[Published]] = {}
    for file in manifest.files:
        if file.name.endswith(".parquet") and not parquet.available():
            notes.append(f"{file.name} was not read: pyarrow is not installed (pip install 'optimas-lsp[campaign]')")
            continue
        if Path(file.name).is_absolute() or ".." in Path(file.name).parts:
            problems.append(Problem(file=file.name, what="it lies outside of the dataset's folder"))
            continue
        found = list(_file(folder, file.name, problems))
        rows[file.name] = found
        problems += _against_manifest(folder, manifest, file.name, found)
    listed = {file.name for file in manifest.files}
    for extra in sorted({f"data/{each.name}" for each in (folder / "data").glob("*")} - listed):
        problems.append(Problem(file=extra, what="the manifest does not list it"))
    problems += _alike(rows)
    whole = _once(rows)
    problems += _families(whole)
    problems += _counts(manifest, whole)
    problems += _card(folder, manifest, whole)
    unknown = sum(row.origin.licence is None for row in whole)
    if unknown:
        notes.append(f"the licence of {unknown} of {len(whole)} attempts is not known: do not publish them")
    return Checked(
        rows=len(whole),
        families=len({row.family for row in whole}),
        problems=tuple(problems),
        notes=tuple(notes),
    )


def _file(folder: Path, name: str, problems: list[Problem]) -> Iterator[Published]:
    """The good rows of a file; the others become problems."""
    try:
        for number, row in rows_of(folder / name):
            if isinstance(row, str):
                problems.append(Problem(file=name, row=number, what=row))
            else:
                yield row
    except DatasetError as error:
        problems.append(Problem(file=name, what=error.what))


def _against_manifest(folder: Path, manifest: Manifest, name: str, rows: list[Published]) -> Iterator[Problem]:
    listed = next(file for file in manifest.files if file.name == name)
    try:
        digest = digest_of_file(folder / name)
    except DatasetError:
        return  # reading it said so
    if digest != listed.sha256:
        yield Problem(file=name, what="its digest is not the manifest's")
    if len(rows) != listed.rows:
        yield Problem(file=name, what=f"it has {len(rows)} good rows, the manifest says {listed.rows}")
    for number, row in enumerate(rows, 1):
        if row.split != listed.split:
            yield Problem(file=name, row=number, what=f"it says split {row.split}, the file is {listed.split}")
    for key, count in Counter(row.key for row in rows).items():
        if count > 1:
            yield Problem(file=name, what=f"attempt {key[:12]} is in it {count} times")


def _alike(rows: dict[str, list[Published]]) -> Iterator[Problem]:
    """Both forms of a split hold the same rows in the same order."""
    for name, found in rows.items():
        other = rows.get(name.removesuffix(".jsonl") + ".parquet") if name.endswith(".jsonl") else None
        if other is not None and [row.line for row in found] != [row.line for row in other]:
            yield Problem(file=name, what="it does not hold the same as its Parquet form")


def _once(rows: dict[str, list[Published]]) -> list[Published]:
    """Every row once, from JSON lines where there are any."""
    found: dict[tuple[str, str], Published] = {}
    for name in sorted(rows):
        for row in rows[name]:
            found.setdefault((row.key, row.split), row)
    return sorted(found.values(), key=lambda row: (row.family, row.mangled, row.key))


def _families(rows: list[Published]) -> Iterator[Problem]:
    """No family, as stated or as it follows from the codes, is in two splits."""
    actual = families_of(row.entry for row in rows)
    stated = {row.key: row.family for row in rows}
    for name, family_of in (("family", stated), ("family by code", actual)):
        splits: dict[str, dict[str, str]] = {}
        for row in rows:
            splits.setdefault(family_of[row.key], {}).setdefault(row.split, row.key)
        for family, found in sorted(splits.items()):
            if len(found) > 1:
                where = ", ".join(f"{split} ({key[:12]})" for split, key in sorted(found.items()))
                yield Problem(file="data", what=f"{name} {family} is in several splits: {where}")


def _counts(manifest: Manifest, rows: list[Published]) -> Iterator[Problem]:
    found = {
        "rows": (manifest.rows, len(rows)),
        "families": (manifest.families, len({row.family for row in rows})),
        "endings": (manifest.endings, dict(Counter(row.ending for row in rows))),
        "licences": (manifest.licences, dict(Counter(row.origin.licence or "unknown" for row in rows))),
        "splits": ({k: v for k, v in manifest.splits.items() if v}, dict(Counter(row.split for row in rows))),
    }
    for name, (said, counted) in found.items():
        if said != counted:
            yield Problem(file="dataset.json", what=f"'{name}' says {said}, counted were {counted}")


def _card(folder: Path, manifest: Manifest, rows: list[Published]) -> Iterator[Problem]:
    try:
        text = as_file(folder / "README.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError, DatasetError):
        yield Problem(file="README.md", what="there is no data card")
        return
    if text != card(manifest, rows):
        yield Problem(file="README.md", what="the data card does not tell of these rows")
