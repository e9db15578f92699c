"""The cluster a head is in (Guan et al. 2020)."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import head_records, number
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.cluster_labels import cluster_label, in_words
from headscope.figures.registered import RunLike


@section(
    "clusters",
    title="Cluster",
    tables=("clusters",),
    order=20,
    note="The silhouette says how well a head fits: 1 is far inside its cluster, 0 on the border.",
)
def clusters(run: RunLike) -> Rows:
    """The cluster, whether it keeps the head when half the corpus is taken, and the fit."""
    found = {}
    for head, row in head_records(run.table("clusters")):
        kept = "the same on random halves of the corpus" if row["stable"] else "not settled"
        label = cluster_label(row["cluster"], row["name"])
        rows = [Row("cluster", value=label, text=kept, strong=True, keywords=in_words(row["name"]))]
        if "silhouette" in row:
            rows.append(Row("silhouette", number(row["silhouette"]), unit="number", full=1.0))
        found[head] = rows
    return found
