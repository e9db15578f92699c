"""Where in a TOML file a field stands: the parser says what is there, not in which line."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*[^=\s]+)*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line of a field, of its table if the field is not there, None if that is not there too.

    `path` is as pydantic gives it: keys, and the number of an element in an array of tables. Keys
    deeper than a line's own are looked for no further than their line.

    >>> text = "version = 1\\n[steps.a]\\ndo = 'analyze'\\n[[claims]]\\nclaim = 'x'\\n[[claims]]\\n"
    >>> line_of(text, ["steps", "a", "do"]), line_of(text, ["steps", "a", "missing"])
    (3, 2)
    >>> line_of(text, ["claims", 1]), line_of(text, ["nowhere"])
    (6, None)
    """
    wanted = tuple(map(str, path))
    best: tuple[int, int] | None = None
    for number, found in _fields(text):
        depth = len(found)
        inside = found == wanted[:depth]
        if inside and (best is None or depth > best[0]):
            best = (depth, number)
    return None if best is None else best[1]


def _fields(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Every header and every key with its full path, in order."""
    fields: list[tuple[int, tuple[str, ...]]] = []
    table: tuple[str, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence:
            fence = "" if fence in line else fence
            continue
        if header := _HEADER.match(line):
            name = _parts(header[2])
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (*name, str(counts[name]))
            else:
                table = _inside_arrays(name, counts)
            fields.append((number, table))
        elif key := _KEY.match(line):
            fields.append((number, (*table, *_parts(key[1]))))
            rest = line[key.end() :]
            fence = next((f for f in ('"""', "'''") if rest.count(f) == 1), "")
    return fields


def _inside_arrays(name: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """`[claims.with]` belongs to the last `[[claims]]`."""
    for cut in range(len(name), 0, -1):
        if name[:cut] in counts:
            return (*name[:cut], str(counts[name[:cut]]), *name[cut:])
    return name


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(dotted))
