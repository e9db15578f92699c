"""Disable a head by letting it attend everywhere alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from headscope.models.edit import EDITS, Edit, Site


@EDITS.register("uniform")
@dataclass(frozen=True)
class Uniform(Edit):
    """Every weight 1/n over the n keys a query may see (Kovaleva et al. 2019, §4.6).

    n counts real keys only; in a causal stack the query at position i sees i + 1 keys, in a local
    layer those of its window.
    """

    name: ClassVar[str] = "uniform"

    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        allowed = site.allowed.to(weights.dtype)
        n_keys = allowed.sum(dim=-1, keepdim=True).clamp(min=1)
        return (allowed / n_keys).expand_as(weights)
