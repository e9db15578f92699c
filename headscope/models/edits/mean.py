"""Let a head look where it looks on average, whatever the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from headscope.models.edit import EDITS, Edit, Site


@EDITS.register("mean")
@dataclass(frozen=True)
class Mean(Edit):
    """Every row becomes the sequence's mean row.

    c[key] is the mean of weight[query, key] over the real queries that may see the key; a query's
    new row is proportional to c over the keys it may see and keeps the row's total. What is left
    of the head is its average direction; what is gone is its dependence on the query. Without a
    mask all this is the plain mean over rows.
    """

    name: ClassVar[str] = "mean"

    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        seen = site.allowed
        if site.real_queries is not None:
            seen = seen & site.real_queries[:, None, :, None]
        seen_by = seen.sum(dim=-2, keepdim=True).clamp(min=1)
        column = (weights * seen).sum(dim=-2, keepdim=True) / seen_by
        row = column * site.allowed
        total = row.sum(dim=-1, keepdim=True)
        return row / total.masked_fill(total == 0, 1.0) * weights.sum(dim=-1, keepdim=True)
