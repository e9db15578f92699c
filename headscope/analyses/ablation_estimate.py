"""Does the gradient foretell what switching a head off does?"""

from __future__ import annotations

from typing import Any

from headscope.analyses.registered import analysis
from headscope.store import Run


@analysis("ablation_estimate", tables=("ablation", "importance_estimate"), order=60)
def ablation_estimate(run: Run) -> None:
    """Sets the first-order estimate beside the measured change of the loss, head by head.

    The table `ablation_estimate` has a row per head and edit: what the gradient foretold
    (`estimate`), what happened (`measured`, with its interval), both in the loss's unit.
    """
    measured = {
        (row["stack"], row["layer"], row["head"], row["edit"]): row
        for row in run.table("ablation").to_pylist()
        if row["metric"] == "loss" and row["head"] is not None
    }
    rows: list[dict[str, Any]] = []
    for row in run.table("importance_estimate").to_pylist():
        found = measured.get((row["stack"], row["layer"], row["head"], row["edit"]))
        if found is not None:
            rows.append(
                {
                    "stack": row["stack"],
                    "layer": row["layer"],
                    "head": row["head"],
                    "edit": row["edit"],
                    "estimate": row["delta_loss"],
                    "measured": found["delta"],
                    "ci_low": found["ci_low"],
                    "ci_high": found["ci_high"],
                    "n": found["n"],
                }
            )
    if rows:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        run.add_table("ablation_estimate", columns)
