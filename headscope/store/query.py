"""SQL over the tables of a run, and over nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from headscope.errors import RunError

# No files, no network, no extensions, no Python variables, no spilling to disk.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
_READING = {"SELECT", "EXPLAIN", "MULTI"}  # MULTI is what a PIVOT is parsed into


def query_tables(
    files: Mapping[str, Path],
    sql: str,
    *,
    timeout_seconds: float | None = None,
    max_rows: int | None = None,
    memory_limit: str = "1GB",
) -> pa.Table:
    """The answer of DuckDB to one reading statement over Parquet files seen as views.

    Each query gets a database of its own in memory that knows the views and whose settings are
    locked before the statement is read. No data is NULL here, as SQL means it: NaN would sort
    above every number and swallow averages.
    """
    config = {**_CLOSED, "memory_limit": memory_limit}
    with _refused(), duckdb.connect(":memory:", config=config) as connection:
        for name, path in files.items():
            _view(connection, name, path)
        connection.execute("SET lock_configuration = true")
        _require_one_reading_statement(connection, sql)
        with _stopped_after(connection, timeout_seconds):
            answer = connection.sql(sql)
            if answer is None:
                raise RunError("query refused: it returns no table")
            if max_rows is not None:
                answer = answer.limit(max_rows)
            return answer.to_arrow_table()


def _view(connection: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    try:
        data = ds.dataset(path, format="parquet")
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"{path} is damaged: {str(error).splitlines()[0]}") from error
    columns = [_column(field) for field in data.schema]
    connection.from_arrow(data).project(", ".join(columns)).create_view(name)


def _column(field: pa.Field) -> str:
    name: str = '"' + field.name.replace('"', '""') + '"'
    if pa.types.is_floating(field.type):
        return f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END AS {name}"
    return name


def _require_one_reading_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise RunError(f"query refused: found {len(statements)} statements; expected one")
    kind = statements[0].type.name
    if kind not in _READING:
        raise RunError(f"query refused: {kind} is not allowed; a run can only be read")


@contextmanager
def _stopped_after(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise RunError(f"query stopped: it took longer than {seconds:g} seconds") from None
    finally:
        timer.cancel()


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise RunError("query refused: " + "\n".join(lines[:5])) from error
