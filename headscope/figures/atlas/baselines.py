"""What a head that finds syntax must beat: always taking the word at one distance."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import number
from headscope.figures.registered import RunLike


def baselines(run: RunLike) -> dict[tuple[str, str], float]:
    """Accuracy of the best fixed offset by stack and relation; empty where it was not measured."""
    if "parser_baseline" not in run.tables:
        return {}
    return {
        (row.get("stack", "self"), row["relation"]): number(row["accuracy"])
        for row in run.table("parser_baseline").to_pylist()
    }
