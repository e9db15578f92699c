"""Names and colours of clusters of heads (tables `clusters`, `clusters_compared`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import altair as alt

from headscope.figures.theme import OKABE_ITO
from headscope.types import HeadId, Stack

_COLOURS = ("sky", "vermillion", "green", "purple", "blue", "orange", "yellow")


@dataclass(frozen=True, slots=True)
class ClusteredHead:
    """A head, the cluster it is in (from 0), the cluster's name, whether the label is stable."""

    head: HeadId
    cluster: int
    name: str | None
    stable: bool
    run: str = ""


def read_clusters(table: Any) -> list[ClusteredHead]:
    """The rows of a table of clusters."""
    return [
        ClusteredHead(
            HeadId(row["layer"], row["head"], cast("Stack", row["stack"])),
            row["cluster"],
            row["name"],
            row["stable"],
            row.get("run", ""),
        )
        for row in table.to_pylist()
    ]


def in_words(name: str | None) -> str:
    """A cluster's name for people.

    >>> in_words("dense_vertical"), in_words(None)
    ('dense & vertical', 'no name')
    """
    return "no name" if name is None else name.replace("_", " & ")


def cluster_label(cluster: int, name: str | None) -> str:
    """A cluster as people see it, counted from 1."""
    return f"{cluster + 1} · {in_words(name)}"


def labels_of(heads: list[ClusteredHead]) -> dict[int, str]:
    """Every cluster that occurs, with its label; names that differ between runs stand together."""
    names: dict[int, list[str | None]] = {}
    for head in heads:
        found = names.setdefault(head.cluster, [])
        if head.name not in found:
            found.append(head.name)
    return {
        cluster: f"{cluster + 1} · {' / '.join(in_words(n) for n in sorted(found, key=str))}"
        for cluster, found in sorted(names.items())
    }


def cluster_scale(labels: dict[int, str]) -> alt.Scale:
    """One colour per cluster number, the same in every figure."""
    colours = [OKABE_ITO[_COLOURS[cluster % len(_COLOURS)]] for cluster in labels]
    return alt.Scale(domain=list(labels.values()), range=colours)


def cluster_colour(labels: dict[int, str], *, legend: bool = True) -> alt.Color:
    """The colour of a record's cluster."""
    shown = alt.Legend(title="cluster", orient="top", direction="horizontal", symbolOpacity=1)
    return alt.Color(
        "cluster:N",
        scale=cluster_scale(labels),
        legend=shown if legend else None,
    )
