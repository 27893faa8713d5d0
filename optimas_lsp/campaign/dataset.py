"""The dataset of a campaign: one row an experiment, as JSON lines, CSV or Parquet; and reading it back.

Everything a report says comes from these rows, so that whoever has the dataset can make every figure again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from optimas_lsp.campaign.experiment import SCHEMA
from optimas_lsp.campaign.extra import load
from optimas_lsp.campaign.row import GATES, Row
from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.replace import write_atomically

KINDS = (".jsonl", ".csv", ".parquet")


class DatasetError(OptimasError):
    """A dataset cannot be read or written."""


def rows_of(plain: Iterable[Mapping[str, Any]], *, where: Path | str) -> tuple[Row, ...]:
    """Rows from plain data, nested or one value a column; raises DatasetError for what is none."""
    return tuple(_row(each, where) for each in plain)


def write(rows: Iterable[Row], target: Path) -> None:
    """Write the dataset; the suffix says how. Raises DatasetError; for Parquet without pyarrow MissingPackageError."""
    ordered = sorted(rows, key=_order)
    kind = _kind(target)
    try:
        if kind == ".parquet":
            _write_parquet(ordered, target)
        elif kind == ".csv":
            write_atomically(target, _csv(ordered).encode())
        else:
            write_atomically(target, "".join(json.dumps(each.flat()) + "\n" for each in ordered).encode())
    except OSError as error:
        raise DatasetError(f"cannot be written: {error.strerror}", where=target) from None


def read(source: Path) -> tuple[Row, ...]:
    """The rows of an exported dataset; raises DatasetError that names the file and line."""
    kind = _kind(source)
    try:
        if kind == ".parquet":
            plain = cast(
                "list[dict[str, Any]]", load("pyarrow.parquet", "reading Parquet").read_table(source).to_pylist()
            )
        elif kind == ".csv":
            with source.open(encoding="utf-8", newline="") as file:
                plain = [{key: _value(key, text) for key, text in row.items()} for row in csv.DictReader(file)]
        else:
            plain = list(_lines(source))
    except FileNotFoundError:
        raise DatasetError("there is no such file", where=source, remedy="optimas campaign export makes one") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"cannot be read: {error}", where=source) from None
    return rows_of(plain, where=source)


def _kind(path: Path) -> str:
    if path.suffix not in KINDS:
        raise DatasetError(
            "a dataset is JSON lines, CSV or Parquet", where=path, remedy=f"end it in {', '.join(KINDS)}"
        )
    return path.suffix


def _order(row: Row) -> tuple[object, ...]:
    return (row.device, row.backend, row.program, row.kernel, row.input, row.evidence, row.repetition, row.key)


def _lines(source: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(source.read_text("utf-8").splitlines(), 1):
        try:
            yield dict(cast("dict[str, Any]", json.loads(line)))
        except (ValueError, TypeError):
            raise DatasetError("this is no JSON object", where=source, line=number) from None


def _row(plain: Mapping[str, Any], where: Path | str) -> Row:
    data = {name: value for name, value in plain.items() if not name.startswith("gate_")}
    gates = {name: str(plain[f"gate_{name}"]) for name in GATES if plain.get(f"gate_{name}")}
    if gates:
        data["gates"] = gates
    try:
        return Row.model_validate(data)
    except ValidationError as error:
        item = error.errors()[0]
        raise DatasetError(
            f"this is no row of {SCHEMA}: '{'.'.join(str(part) for part in item['loc'])}': {item['msg']}", where=where
        ) from None


def _value(name: str, text: str) -> str | None:
    """An empty cell is no number, but an empty text."""
    field = Row.model_fields.get(name)
    return None if not text and field is not None and field.default is None else text


def _csv(rows: list[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(_columns()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(each.flat() for each in rows)
    return out.getvalue()


def _columns() -> tuple[str, ...]:
    names = [field.alias or name for name, field in Row.model_fields.items() if name != "gates"]
    return (*names, *(f"gate_{name}" for name in GATES))


def _write_parquet(rows: list[Row], target: Path) -> None:
    arrow = load("pyarrow", "writing Parquet")
    kinds: dict[object, Any] = {float | None: arrow.float64(), int | None: arrow.int64(), int: arrow.int64()}
    fields: list[Any] = []
    for name, field in Row.model_fields.items():
        if name != "gates":
            fields.append(arrow.field(field.alias or name, kinds.get(field.annotation, arrow.string())))
    fields += [arrow.field(f"gate_{name}", arrow.string()) for name in GATES]
    table = arrow.Table.from_pylist([each.flat() for each in rows], schema=arrow.schema(fields))
    sink = io.BytesIO()
    load("pyarrow.parquet", "writing Parquet").write_table(table, sink, compression="zstd")
    write_atomically(target, sink.getvalue())
