"""`headscope query`: SQL over the tables of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_ROWS = 200


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(query)


def query(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    sql: Annotated[str, typer.Argument(help="A select over the run's tables.")],
    as_json: Annotated[bool, typer.Option("--json", help="Rows as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Rows as CSV.")] = False,
) -> None:
    """Ask a run with SQL, for example: select * from surface order by mean desc limit 5."""
    from headscope.store import open_run, table_text

    table = open_run(run).query(sql)
    if as_json or as_csv or not sys.stdout.isatty():
        typer.echo(table_text(table, "json" if as_json else "csv"), nl=False)
    else:
        _show(table)


def _show(table: pa.Table) -> None:
    from rich.console import Console
    from rich.table import Table

    grid = Table(*(str(name) for name in table.column_names))
    for row in table.slice(0, _SHOWN_ROWS).to_pylist():
        grid.add_row(*(_cell(value) for value in row.values()))
    console = Console()
    console.print(grid)
    if table.num_rows > _SHOWN_ROWS:
        console.print(f"{_SHOWN_ROWS} of {table.num_rows} rows; --csv or --json give all")


def _cell(value: object) -> str:
    from rich.markup import escape

    return f"{value:.4f}" if isinstance(value, float) else escape(str(value))
