"""The passports of all heads as one table."""

from __future__ import annotations

import math
from typing import Any

from headscope.figures.atlas.run_heads import ReadOnce, heads_of, shapes_of
from headscope.figures.atlas.section import sections_of
from headscope.figures.registered import RunLike

COLUMNS = (
    "stack", "layer", "head", "section", "label", "number", "low", "high", "n", "value", "text",
    "strong",
)  # fmt: skip


def all_passports(run: RunLike) -> dict[str, list[Any]]:
    """A row per line of every head's passport; layers and heads count from 0, as in all tables."""
    once = ReadOnce(run)
    told = [(section, section.tell(once)) for section in sections_of(once)]
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for head in heads_of(shapes_of(once)):
        for section, rows in told:
            for row in rows.get(head, ()):
                said = row.to_dict()
                cells = (
                    head.stack,
                    head.layer,
                    head.head,
                    section.name,
                    said["label"],
                    row.number,
                    row.low,
                    row.high,
                    -1 if row.n is None else int(row.n),
                    said.get("value", ""),
                    said.get("text", ""),
                    bool(row.strong),
                )
                for name, cell in zip(COLUMNS, cells, strict=True):
                    columns[name].append(cell)
    return columns


def highlights(run: RunLike) -> list[tuple[str, list[str]]]:
    """Every head with what is characteristic of it, in a few words."""
    once = ReadOnce(run)
    told = [(section, section.tell(once)) for section in sections_of(once)]
    found = []
    for head in heads_of(shapes_of(once)):
        words = []
        for _, rows in told:
            for row in rows.get(head, ()):
                if row.strong:
                    number = "" if math.isnan(row.number) else f" {row.to_dict().get('value', '')}"
                    words.append(f"{row.label}{number}")
        found.append((str(head), words))
    return found
