"""One thing to try: some heads, switched off together."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.types import HeadId


@dataclass(frozen=True)
class Ablation:
    """Heads that are edited together. `by` says how they were chosen, `group` what they are called.

    A single head has no group; `step` counts along an accumulation, from 1.
    """

    by: str
    heads: frozenset[HeadId]
    group: str | None = None
    layer: int | None = None
    step: int | None = None

    @property
    def single(self) -> HeadId | None:
        """The head, if it is one alone and was chosen as such."""
        return next(iter(self.heads)) if self.by == "head" else None

    @property
    def first_layer(self) -> int:
        """Nothing before this layer changes."""
        return min(head.layer for head in self.heads)

    def __str__(self) -> str:
        return self.group or str(self.single)
