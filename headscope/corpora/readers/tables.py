"""Tables with a header: tab-separated as GLUE writes them, comma-separated as RFC 4180 does."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator

from headscope.corpora.columns import Columns
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.types import Sequence

Row = tuple[int, list[str]]


@READERS.register("tsv")
def read_tsv(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """Tab-separated columns under a header; quotation marks are ordinary characters."""
    return _read(tsv_rows(source), source, options)


@READERS.register("csv")
def read_csv(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """Comma-separated columns under a header; a quoted cell may hold commas and line breaks."""
    return _read(csv_rows(source), source, options)


def tsv_rows(source: Source) -> Iterator[Row]:
    """Numbered rows of cells, the header first."""
    return ((number, line.split("\t")) for number, line in source.lines() if line.strip())


def csv_rows(source: Source) -> Iterator[Row]:
    """Numbered rows of cells, the header first."""
    table = csv.reader((line + "\n" for _, line in source.lines()), strict=True)
    first = 1
    try:
        for cells in table:
            if cells:
                yield first, cells
            first = table.line_num + 1
    except csv.Error as error:
        raise source.error(f"a broken row ({error})", "quoting as in RFC 4180", first) from None


def _read(rows: Iterator[Row], source: Source, options: ReadOptions) -> Iterator[Sequence]:
    columns: Columns | None = None
    for number, record in named_cells(rows, source):
        if columns is None:
            columns = Columns.choose(record, options, source, number)
            continue
        yield columns.sequence(record, source, number)


def named_cells(rows: Iterator[Row], source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Numbered rows with their cells by name; the first one is the header itself."""
    header: list[str] | None = None
    for number, cells in rows:
        if header is None:
            header = cells
            _refuse_twins(header, source, number)
        if len(cells) != len(header):
            raise source.error(f"{len(cells)} columns", f"{len(header)}, as in the header", number)
        yield number, dict(zip(header, cells, strict=True))


def _refuse_twins(header: list[str], source: Source, line: int) -> None:
    twins = [name for name, count in Counter(header).items() if count > 1]
    if twins:
        raise source.error(f"the column {twins[0]!r} twice", "a header of different names", line)
