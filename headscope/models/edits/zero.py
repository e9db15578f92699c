"""Switch a head off: every weight becomes 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.models.edit import EDITS, Edit, Site


@EDITS.register("zero")
@dataclass(frozen=True)
class Zero(Edit):
    """All weights 0, so the head's output z is 0 (Guan et al. 2020, §5)."""

    name: ClassVar[str] = "zero"

    def change(
        self, weights: Float[Tensor, "batch head query key"], site: Site
    ) -> Float[Tensor, "batch head query key"]:
        return torch.zeros_like(weights)
