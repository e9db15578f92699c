"""Tables as CSV or JSON, for everything that does not read Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from headscope.errors import RunError
from headscope.store.durable import explained, write_durably
from headscope.store.run import Run

Format: TypeAlias = Literal["csv", "json"]


def table_text(table: pa.Table, format_: Format = "csv") -> str:
    """A table as text; no data is an empty cell in CSV and null in JSON.

    >>> table = pa.table({"head": [1, 2], "mean": [0.5, float("nan")]})
    >>> print(table_text(table), end="")
    "head","mean"
    1,0.5
    2,
    >>> print(table_text(table, "json"), end="")
    [
    {"head": 1, "mean": 0.5},
    {"head": 2, "mean": null}
    ]
    """
    if format_ == "json":
        rows = (json.dumps(row, ensure_ascii=False) for row in table_rows(table))
        return "[\n" + ",\n".join(rows) + "\n]\n"
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(_without_nan(table), sink)
    text: str = sink.getvalue().to_pybytes().decode()
    return text


def table_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Rows as JSON can hold them: no data is None.

    >>> list(table_rows(pa.table({"head": [1], "mean": [float("nan")]})))
    [{'head': 1, 'mean': None}]
    """
    return (_plain(row) for row in table.to_pylist())


def export_tables(
    run: Run,
    folder: str | Path,
    format_: Format = "csv",
    *,
    tables: Iterable[str] | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write tables of a run, all unless named, as `<table>.csv` or `.json` into a folder.

    Existing files are left alone, and nothing is written, unless `overwrite`.
    """
    target = Path(folder).expanduser()
    names = list(run.tables if tables is None else tables)
    paths = [target / f"{name}.{format_}" for name in names]
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise RunError(f"{there[0]} exists already; choose another folder, or overwrite it")
    loaded = [run.table(name) for name in names]
    with explained("write", target):
        target.mkdir(parents=True, exist_ok=True)
        for path, table in zip(paths, loaded, strict=True):
            write_durably(path, table_text(table, format_).encode())
    return paths


def _without_nan(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(index)
            empty = pa.scalar(None, type=field.type)
            table = table.set_column(index, field, pc.if_else(pc.is_nan(column), empty, column))
    return table


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value if isinstance(value, str | int | float | bool | None) else str(value)
