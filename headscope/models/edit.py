"""Edits: what is done to the weights of chosen heads before the model uses them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.errors import UsageError
from headscope.models.batch import Batch, Tokens
from headscope.models.layout import Layout
from headscope.registry import Registry
from headscope.types import HeadId, Stack

EDITS: Registry[type[Edit]] = Registry("edit", "headscope.models.edits")


@dataclass(frozen=True, eq=False)
class Site:
    """Where an edit acts: the layer, the keys each query may see, and the batch if known."""

    stack: Stack
    layer: int
    allowed: Bool[Tensor, "batch 1 query key"]
    real_queries: Bool[Tensor, "batch query"] | None
    batch: Batch | None

    def tokens(self) -> Tokens:
        if self.batch is None:
            raise UsageError("this edit needs to know the segments: call tap.forward(batch)")
        if self.stack == "decoder" and self.batch.target is not None:
            return self.batch.target
        return self.batch.source


@dataclass(frozen=True)
class Edit(ABC):
    """A change of the weights of `heads`; `None` means every head of the model.

    Edits compose: a tap applies them in the order given, each on what the one before left.
    """

    name: ClassVar[str]
    heads: frozenset[HeadId] | None = None

    @abstractmethod
    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        """The new weights of the chosen heads of one layer (never changed in place)."""

    def check(self, layout: Layout) -> None:
        for head in self.heads or ():
            layout.check(head)

    def apply(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        """`weights` with the chosen heads of this layer changed and all others untouched."""
        if self.heads is None:
            return self.change(weights, site)
        chosen = sorted(
            h.head for h in self.heads if (h.stack, h.layer) == (site.stack, site.layer)
        )
        if not chosen:
            return weights
        index = torch.tensor(chosen, device=weights.device)
        return weights.index_copy(1, index, self.change(weights[:, index], site))


def head_set(labels: str | Iterable[str | HeadId]) -> frozenset[HeadId]:
    """Heads from labels: `"3-1,4-2"` or an iterable of labels and ids.

    >>> sorted(str(h) for h in head_set("3-1, 4-2"))
    ['3-1', '4-2']
    """
    if isinstance(labels, str):
        labels = re.split(r"[,\s]+", labels.strip())
    return frozenset(h if isinstance(h, HeadId) else HeadId.parse(h) for h in labels)
