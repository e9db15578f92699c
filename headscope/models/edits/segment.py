"""Keep a head from looking across, or within, the two segments of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from headscope.errors import UsageError
from headscope.models.edit import EDITS, Edit, Site
from headscope.models.layout import Layout


def same_segment(site: Site) -> tuple[Bool[Tensor, "batch 1 query key"], ...]:
    """Pairs of tokens in the same segment, and in different ones; delimiters are in neither."""
    segments = site.tokens().segments
    inside = segments >= 0
    both = inside[:, :, None] & inside[:, None, :]
    same = segments[:, :, None] == segments[:, None, :]
    return (both & same)[:, None], (both & ~same)[:, None]


@dataclass(frozen=True)
class _Segment(Edit):
    renormalise: bool = False

    def check(self, layout: Layout) -> None:
        super().check(layout)
        chosen = layout.heads() if self.heads is None else self.heads
        if any(head.stack == "cross" for head in chosen):
            raise UsageError("segment edits are not defined for cross-attention")

    def _without(
        self,
        weights: Float[Tensor, "batch head query key"],
        removed: Bool[Tensor, "batch 1 query key"],
    ) -> Float[Tensor, "batch head query key"]:
        kept = weights.masked_fill(removed, 0.0)
        if not self.renormalise:
            return kept
        # a row that lost everything stays 0
        total = kept.sum(dim=-1, keepdim=True)
        return kept / total.masked_fill(total == 0, 1.0)


@EDITS.register("intra")
@dataclass(frozen=True)
class IntraOnly(_Segment):
    """Weights between tokens of different segments become 0 (Guan et al. 2020, §5).

    Delimiters belong to no segment: weights from and to them stay. Rows are not renormalised
    unless asked.
    """

    name: ClassVar[str] = "intra"

    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        _, different = same_segment(site)
        return self._without(weights, different)


@EDITS.register("inter")
@dataclass(frozen=True)
class InterOnly(_Segment):
    """Weights between tokens of the same segment become 0 (Guan et al. 2020, §5).

    Delimiters belong to no segment: weights from and to them stay. Rows are not renormalised
    unless asked.
    """

    name: ClassVar[str] = "inter"

    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        same, _ = same_segment(site)
        return self._without(weights, same)
