"""What a measure sees: one layer of one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from jaxtyping import Bool, Float
from torch import Tensor

from headscope.models.batch import Batch, Tokens
from headscope.types import Stack

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class View:
    """The attention of one layer over one batch, after all edits.

    `pattern[batch, head, query, key]` is float32. Rows of padding queries hold arbitrary numbers:
    weigh rows by `queries.real`. Padding keys have weight 0. `z` is the heads' output before the
    output projection. In the `cross` stack the queries are the decoder's tokens and the keys the
    encoder's; everywhere else both are the same tokens. `allowed` marks the keys a query may see.
    `first_layer` is the first layer of the stack that is looked at: what is the same for all
    layers is told there.
    """

    stack: Stack
    layer: int
    causal: bool
    pattern: Float[Tensor, "batch head query key"]
    z: Float[Tensor, "batch head query d_head"]
    allowed: Bool[Tensor, "batch 1 query key"]
    batch: Batch
    first_layer: int = 0

    @property
    def queries(self) -> Tokens:
        if self.stack in ("decoder", "cross") and self.batch.target is not None:
            return self.batch.target
        return self.batch.source

    @property
    def keys(self) -> Tokens:
        if self.stack == "decoder" and self.batch.target is not None:
            return self.batch.target
        return self.batch.source

    @property
    def n_heads(self) -> int:
        return self.pattern.shape[1]

    @property
    def gradient(self) -> Float[Tensor, "batch head query key"]:
        """∂loss/∂pattern, once the loss of a gradient-keeping tap has been propagated back."""
        if self.pattern.grad is None:
            raise RuntimeError("no gradient: tap with gradients=True and call loss.backward()")
        return self.pattern.grad

    def once(self, key: str, build: Callable[[], T]) -> T:
        """Compute something once for this stack's tokens and share it between its layers."""
        return self.batch.once(f"{self.stack}/{key}", build)
