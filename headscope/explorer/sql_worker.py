"""A process of its own that answers questions in SQL, one line of JSON each; it can be killed.

A statement can be short and still ask for the impossible (`repeat('x', 2000000000)`), and inside
one function DuckDB hears no interrupt. So questions are answered here, with bounded memory, and
whoever waits ends the process when time is up.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from headscope.errors import HeadscopeError
from headscope.store.export import table_rows
from headscope.store.query import query_tables

_LONGEST_CELL = 10_000


def answered(question: dict[str, Any]) -> dict[str, Any]:
    """Columns, rows and whether there were more."""
    files = {name: Path(path) for name, path in question["files"].items()}
    most = question["max_rows"]
    try:
        table = query_tables(
            files,
            question["sql"],
            timeout_seconds=question["seconds"],
            max_rows=most + 1,
            memory_limit="512MB",
        )
    except HeadscopeError as error:
        return {"error": str(error)[:2000]}
    except MemoryError:
        return {"error": "query stopped: it needs too much memory"}
    except UnicodeError:
        return {"error": "query refused: it has half a character in it"}
    columns = [str(name)[:200] for name in table.column_names]
    rows: list[list[Any]] = []
    left = question["max_bytes"]
    for row in table_rows(table.slice(0, most)):
        cells = [_shorter(value) for value in row.values()]
        left -= len(json.dumps(cells))
        if left < 0:
            return {"columns": columns, "rows": rows, "more": True}
        rows.append(cells)
    return {"columns": columns, "rows": rows, "more": table.num_rows > most}


def _shorter(value: Any) -> Any:
    """A cell no longer than people read."""
    if isinstance(value, str) and len(value) > _LONGEST_CELL:
        return value[:_LONGEST_CELL] + "…"
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…"
    return value


def main(memory_bytes: int) -> None:
    """Answer until there are no more questions."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    except (ImportError, ValueError, OSError):  # no such limits on this system
        pass
    for line in sys.stdin:
        try:
            told = answered(json.loads(line))
        except MemoryError:
            told = {"error": "query stopped: it needs too much memory"}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
