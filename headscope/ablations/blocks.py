"""Several ablations in one forward pass: a batch of copies, each with its own edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from headscope.models import Batch, Edit, Site, Tokens


def copies(batch: Batch, n: int) -> Batch:
    """The batch n times, one whole copy under the other."""
    if n == 1:
        return batch
    source = Tokens(**{name: _copied(getattr(batch.source, name), n) for name in _FIELDS})
    inputs = {name: _copied(tensor, n) for name, tensor in batch.inputs.items()}
    return Batch(batch.encoded * n, source, None, inputs, batch.facts)


_FIELDS = ("ids", "real", "kinds", "segments", "words")


def _copied(tensor: Tensor, n: int) -> Tensor:
    return tensor.repeat(n, *[1] * (tensor.ndim - 1))


@dataclass(frozen=True)
class Blocks(Edit):
    """The i-th edit on the i-th copy of a batch."""

    name: ClassVar[str] = "blocks"
    edits: tuple[Edit, ...] = ()
    batch: Any = None

    @classmethod
    def of(cls, edits: Sequence[Edit], batch: Batch) -> Blocks:
        """One edit for every copy of `batch`."""
        return cls(edits=tuple(edits), batch=batch)

    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        raise NotImplementedError("blocks are applied as a whole")

    def apply(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        here = [
            sorted(
                h.head for h in edit.heads or () if (h.stack, h.layer) == (site.stack, site.layer)
            )
            for edit in self.edits
        ]
        if not any(here):
            return weights
        n_rows = len(weights) // len(self.edits)
        edited = weights.clone()
        for i, (edit, heads) in enumerate(zip(self.edits, here, strict=True)):
            if heads:
                rows = slice(i * n_rows, (i + 1) * n_rows)
                queries = None if site.real_queries is None else site.real_queries[rows]
                inner = replace(
                    site, allowed=site.allowed[rows], real_queries=queries, batch=self.batch
                )
                edited[rows, heads] = edit.change(weights[rows, heads], inner)
        return edited
