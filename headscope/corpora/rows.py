"""Rows of a table or of JSON records, with all their columns and their lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.corpora.detection import detect_reader
from headscope.corpora.json_values import members, parse_object
from headscope.corpora.readers.tables import csv_rows, named_cells, tsv_rows
from headscope.corpora.source import Source


def read_rows(source: Source, reader: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every row of a TSV, CSV, JSON or JSONL file: its line and its cells by column.

    For whoever needs more of a row than its text, such as a label.
    """
    kind = reader or detect_reader(source)
    if kind in ("tsv", "csv"):
        rows = tsv_rows(source) if kind == "tsv" else csv_rows(source)
        named = named_cells(rows, source)
        next(named, None)
        yield from named
    elif kind == "jsonl":
        for number, line in source.lines():
            if line.strip():
                yield number, parse_object(line, source, number)
    elif kind == "json":
        for number, _, record in members(source.text(), source):
            if not isinstance(record, dict):
                raise source.error(f"a {type(record).__name__}", "a record (a JSON object)", number)
            yield number, record
    else:
        raise source.error(f"a file for the reader {kind!r}", "rows: TSV, CSV, JSON or JSONL")
