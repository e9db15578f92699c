"""Reading a finished run, and adding to it what was found in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.store.durable import explained, is_temporary, remove_temporaries, write_durably
from headscope.store.folder import ARRAYS, TABLES, read_record
from headscope.store.lock import RunLock
from headscope.store.names import check_array_name, check_file_name, check_table_name
from headscope.store.query import query_tables
from headscope.store.record import RunRecord
from headscope.store.remote import RemoteRun
from headscope.store.schema import to_arrow
from headscope.store.tables import read_table, table_bytes
from headscope.store.tensors import DamagedError, decode, encode

#: How long an analysis waits for another one that is adding to the same run.
_WAIT_SECONDS = 10.0


def open_run(path: str | Path) -> Run:
    """A finished run; RunError says why a folder is none and what to do."""
    if (remote := RemoteRun.at(path)) is not None:
        with remote.explained("read"):
            there = open_run(remote.fetch())
        return Run(there.path, there.record, remote.url)
    folder = Path(path).expanduser()
    record = read_record(folder)
    if record.status != "complete":
        raise RunError(
            f"{folder} holds an unfinished run; finish it with the command that began it and "
            f"--resume (-o {folder})"
        )
    return Run(folder, record)


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run: its record, its tables, its arrays. Needs no model and no torch.

    A run at a `url` is read from a local copy, and what is added to it is uploaded too.
    """

    path: Path
    record: RunRecord
    url: str = ""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, sorted."""
        return _names(self.path / TABLES, ".parquet")

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays, sorted."""
        return _names(self.path / ARRAYS, ".safetensors")

    def table(self, name: str) -> pa.Table:
        """A table, NaN where there is no data."""
        self._require("table", name, self.tables)
        return read_table(self._table_path(name))

    def array(self, name: str) -> NDArray[Any]:
        """An array."""
        self._require("array", name, self.arrays)
        path = self._array_path(name)
        with explained("read", path):
            try:
                return decode(path.read_bytes())[0][name]
            except (DamagedError, KeyError) as error:
                raise RunError(f"{path} is damaged: {error}") from error

    def query(
        self, sql: str, *, timeout_seconds: float | None = None, max_rows: int | None = None
    ) -> pa.Table:
        """The answer to one SELECT over the tables, in DuckDB's SQL; no data is NULL.

        Nothing but the tables can be read, and nothing written: `run.query("select layer, head
        from surface where target = 'prev' order by mean desc limit 5")`.
        """
        files = {name: self._table_path(name) for name in self.tables}
        return query_tables(files, sql, timeout_seconds=timeout_seconds, max_rows=max_rows)

    def add_table(self, name: str, table: pa.Table | Mapping[str, Any]) -> None:
        """Add a table to the run, or replace it, in one step."""
        columns = (
            dict(zip(table.column_names, table.columns, strict=True))
            if isinstance(table, pa.Table)
            else table
        )
        self._write(self._table_path(check_table_name(name)), table_bytes(to_arrow(name, columns)))

    def add_array(self, name: str, array: NDArray[Any]) -> None:
        """Add an array to the run, or replace it, in one step."""
        self._write(self._array_path(check_array_name(name)), encode({name: array}))

    def write_file(self, name: str, content: bytes | str) -> Path:
        """Put a file such as report.html into the run, or replace it, in one step."""
        path = self.path / check_file_name(name)
        self._write(path, content.encode() if isinstance(content, str) else content)
        return path

    def _write(self, path: Path, content: bytes) -> None:
        with explained("write", path), RunLock(self.path, timeout_seconds=_WAIT_SECONDS):
            path.parent.mkdir(exist_ok=True)
            remove_temporaries(path.parent)
            write_durably(path, content)
        if self.url:
            RemoteRun(self.url).publish_file(path)

    def _table_path(self, name: str) -> Path:
        return self.path / TABLES / f"{name}.parquet"

    def _array_path(self, name: str) -> Path:
        return self.path / ARRAYS / f"{name}.safetensors"

    def _require(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise RunError(f"{self.path} has no {kind} {name!r}; it has: {listed}")

    def __repr__(self) -> str:
        model, n_sequences = self.record.model.name, self.record.corpus.n_sequences
        return (
            f"Run({str(self.path)!r}: {model}, {n_sequences} sequences, {len(self.tables)} tables)"
        )

    def _repr_html_(self) -> str:
        model, corpus = self.record.model, self.record.corpus
        stacks = "; ".join(
            f"{s.n_layers} layers × {s.n_heads} heads"
            + (f" ({s.stack})" if s.stack != "self" else "")
            for s in model.stacks
        )
        rows = {
            "run": str(self.path),
            "model": f"{model.name} {stacks}",
            "corpus": f"{corpus.name or ', '.join(corpus.files)} ({corpus.n_sequences} sequences)",
            "tables": ", ".join(self.tables),
            "skipped": "; ".join(f"{s.name}: {s.reason}" for s in self.record.skipped),
            "notes": "; ".join(self.record.notes),
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for key, text in rows.items()
            if text
        )
        return f"<table>{cells}</table>"


def _names(folder: Path, suffix: str) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    paths = (path for path in folder.iterdir() if path.suffix == suffix)
    return tuple(sorted(path.stem for path in paths if not is_temporary(path.name)))
