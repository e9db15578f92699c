"""Rows of texts with a label: GLUE's files, and a user's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headscope.corpora.checks import check_text
from headscope.corpora.columns import Columns
from headscope.corpora.options import ReadOptions
from headscope.corpora.rows import read_rows
from headscope.tasks.data import DataOptions, PartSource
from headscope.types import Sequence

#: Usual names of the label's column, first match wins.
USUAL_LABELS = ("label", "Quality", "is_duplicate", "gold_label", "score", "class", "target")


def labelled_rows(
    part: PartSource, options: DataOptions
) -> Iterator[tuple[Sequence, str | float, int]]:
    """Every row's text (or pair), its label as the file has it, and its line."""
    reading = ReadOptions(text_column=options.text_column, pair_column=options.pair_column)
    columns: Columns | None = None
    label = ""
    for number, (line, row) in enumerate(read_rows(part.source), 1):
        if columns is None:
            columns = Columns.choose(row, reading, part.source, line)
            label = _label_column(row, options, part)
        found = columns.sequence(row, part.source, line)
        sequence = Sequence(
            f"{part.source.stem}:{number}", found.text, found.pair, source=found.source, line=line
        )
        check_text(sequence, reading.max_characters)
        yield sequence, _label(row, label, part, line), line


def _label_column(row: Mapping[str, Any], options: DataOptions, part: PartSource) -> str:
    wanted = (options.label_column,) if options.label_column else USUAL_LABELS
    found = next((name for name in wanted if name in row), None)
    if found is None:
        listed = ", ".join(repr(name) for name in row)
        if options.label_column:
            expected = f"a column {options.label_column!r}"
        else:
            expected = f"a column of labels ({', '.join(USUAL_LABELS)}), or one by name"
        raise part.error(f"columns {listed}", expected, 1)
    return found


def _label(row: Mapping[str, Any], column: str, part: PartSource, line: int) -> str | float:
    value = row.get(column)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise part.error(f"no label in {column!r}", "a label in every row", line)
    return value.strip() if isinstance(value, str) else value
