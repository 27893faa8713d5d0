"""Parquet: the columns follow from the row's model, so that both forms of a dataset hold the same.

Texts of free data (scores, comparisons) are JSON in a text column. Needs pyarrow.
"""

from __future__ import annotations

import io
import json
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel

from optimas_lsp.corpus.dataset import DatasetError, Published
from optimas_lsp.corpus.model import canonical
from optimas_lsp.corpus.vectors import missing

ROWS_A_GROUP = 256
MOST_BYTES = 1 << 30
"""Bytes of one row group, unpacked; a larger one is not read."""

AT_ONCE = 64 << 20
"""Bytes of rows that are unpacked at the same time, unless one row takes more."""


def available() -> bool:
    """Whether pyarrow is installed."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def write(rows: Sequence[Published]) -> bytes:
    """The rows as a Parquet file; raises MissingExtraError without pyarrow."""
    arrow, parquet = _arrow()
    columns = _fields(Published)
    schema = arrow.schema([arrow.field(name, _type(arrow, kind)) for name, kind in columns.items()])
    free = [name for name, kind in columns.items() if _is_free(kind)]
    data = [_packed(row.model_dump(mode="json", by_alias=True), free) for row in rows]
    sink = io.BytesIO()
    table = arrow.Table.from_pylist(data, schema=schema)
    parquet.write_table(table, sink, compression="zstd", row_group_size=ROWS_A_GROUP)
    return sink.getvalue()


def read(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file as plain data; raises DatasetError, or MissingExtraError without pyarrow."""
    arrow, parquet = _arrow()
    free = [name for name, kind in _fields(Published).items() if _is_free(kind)]
    try:
        with parquet.ParquetFile(file) as source:
            for at in range(source.num_row_groups):
                size = source.metadata.row_group(at).total_byte_size
                if size > MOST_BYTES:
                    raise DatasetError(f"row group {at + 1} takes {size:,} bytes, more than is read", where=file)
                # One text of a column's dictionary may stand in every row: no more rows at once than have room then.
                rows = max(1, min(ROWS_A_GROUP, AT_ONCE // max(1, size)))
                for batch in source.iter_batches(batch_size=rows, row_groups=[at]):
                    for row in cast("list[dict[str, Any]]", batch.to_pylist()):
                        yield _unpacked(row, free)
    except (arrow.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DatasetError(f"is no readable Parquet file: {said}", where=file) from None


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing("pyarrow", "Parquet") from None
    return cast("Any", pyarrow), cast("Any", pyarrow.parquet)


def _packed(row: dict[str, Any], free: list[str]) -> dict[str, Any]:
    return row | {name: None if row[name] is None else canonical(row[name]) for name in free}


def _unpacked(row: dict[str, Any], free: list[str]) -> dict[str, Any]:
    for name in free:
        if isinstance(row.get(name), str):
            try:
                row[name] = json.loads(row[name])
            except (ValueError, RecursionError):
                continue  # the row's model refuses a text here
    return row


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Each field's name in JSON and its type."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _is_free(kind: Any) -> bool:
    return any(get_origin(each) is dict for each in (kind, *get_args(kind)))


def _type(arrow: Any, kind: Any) -> Any:
    """The Arrow type of an annotation."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _type(arrow, next(each for each in inner if each is not type(None)))
    if origin is Literal or kind is str or _is_free(kind):
        return arrow.string()
    if origin is tuple:
        return arrow.list_(_type(arrow, inner[0]))
    if hasattr(kind, "__metadata__"):
        return _type(arrow, inner[0])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return arrow.struct([arrow.field(name, _type(arrow, each)) for name, each in _fields(kind).items()])
    return {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}[kind]
