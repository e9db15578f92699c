"""Tables of a study: what a SELECT gives, with the paper's own figures beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from headscope.errors import HeadscopeError
from headscope.figures.picture import Table
from headscope.studies.claim import Labelled
from headscope.studies.document import Published


def cell(value: Any) -> str:
    """A value as people read it: four digits that matter, a dash for no data.

    >>> cell(0.123456), cell(8.1), cell(float("nan")), cell("det"), cell(7), cell(12345.6)
    ('0.1235', '8.1', '–', 'det', '7', '12,346')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return str(value)


def table_of(
    runs: Sequence[Labelled], sql: str, published: Published | None = None
) -> tuple[Table | None, str]:
    """The table and, where a run has nothing to answer with, why not.

    The rows of several runs follow each other under a first column with their labels. A published
    row stands beside the first of ours that begins with the same name; published rows that have no
    like here, and ours that have none there, are kept, with dashes for what is not known.
    """
    columns: list[str] = []
    rows: list[list[str]] = []
    troubles: list[str] = []
    for one in runs:
        try:
            answer = one.run.query(sql)
        except HeadscopeError as error:
            troubles.append(f"{one.label}: {str(error).splitlines()[0]}")
            continue
        own = [[cell(value) for value in row.values()] for row in answer.to_pylist()]
        columns = list(answer.column_names)
        rows += [[one.label, *row] for row in own] if len(runs) > 1 else own
    if columns and len(runs) > 1:
        columns = ["", *columns]
    trouble = "; ".join(troubles)
    if published is not None:
        columns, rows = joined(columns or published.columns[:1], rows, published)
    if not rows:
        return None, trouble or "no rows"
    return Table(tuple(columns), tuple(tuple(row) for row in rows)), trouble


def joined(
    columns: list[str], rows: list[list[str]], published: Published
) -> tuple[list[str], list[list[str]]]:
    """Ours to the left, theirs to the right, joined by the first column.

    >>> theirs = Published(columns=["relation", "paper"], rows=[["det", 94.3], ["prt", 99.1]])
    >>> joined(["relation", "here"], [["det", "78.5"]], theirs)[1]
    [['det', '78.5', '94.3'], ['prt', '–', '99.1']]
    """
    there = {cell(row[0]): [cell(value) for value in row[1:]] for row in published.rows}
    width, blank = len(columns), ["–"] * (len(published.columns) - 1)
    found = [[*row, *there.get(row[0], blank)] for row in rows]
    ours = {row[0] for row in rows}
    found += [
        [name, *["–"] * (width - 1), *cells] for name, cells in there.items() if name not in ours
    ]
    rank = {name: i for i, name in enumerate(there)}
    found.sort(key=lambda row: rank.get(row[0], len(rank)))
    return [*columns, *published.columns[1:]], found
