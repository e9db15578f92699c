"""The roles and clusters of a run as groups of heads."""

from __future__ import annotations

from typing import Any

from headscope.ablations.selection import Groups
from headscope.store import Run
from headscope.types import HeadId


def groups_of(run: Run) -> Groups:
    """Heads by role (those the run assigned it to) and by cluster (its name, else its number)."""
    roles: dict[str, set[HeadId]] = {}
    clusters: dict[str, set[HeadId]] = {}
    if "roles" in run.tables:
        for row in run.table("roles").to_pylist():
            if row["assigned"]:
                roles.setdefault(row["role"], set()).add(_head(row))
    if "clusters" in run.tables:
        for row in run.table("clusters").to_pylist():
            name = row["name"] or f"cluster {row['cluster'] + 1}"
            clusters.setdefault(name, set()).add(_head(row))
    return Groups(
        {name: frozenset(heads) for name, heads in sorted(roles.items())},
        {name: frozenset(heads) for name, heads in sorted(clusters.items())},
    )


def _head(row: dict[str, Any]) -> HeadId:
    return HeadId(row["layer"], row["head"], row["stack"])
