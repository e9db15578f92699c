"""The same maps for both ways: stored whole for the loops, as views for the measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.measures import LayerMeasure, StackMeasure
from headscope.models import Layout, LoadedModel, Tap, View, collate
from headscope.types import Encoded, Facts

Maps = NDArray[np.float32]


@dataclass(frozen=True)
class Stored:
    """What one batch's attention was: per sequence for the loops, per layer for the measures."""

    encoded: tuple[Encoded, ...]
    maps: tuple[Maps, ...]
    views: tuple[View, ...]
    layout: Layout

    def observed(self, measure: LayerMeasure) -> list[Any]:
        """A measure's value of every layer, with nothing remembered from before."""
        self.views[0].batch._memo.clear()
        return [measure.observe(view) for view in self.views]

    def observed_together(self, measure: StackMeasure) -> Any:
        self.views[0].batch._memo.clear()
        return measure.observe([measure.keep(v, self.layout[v.stack]) for v in self.views])


def stored(model: LoadedModel, encoded: Sequence[Encoded], facts: Facts | None = None) -> Stored:
    """Run a batch once and keep everything (which is what nobody should do with a corpus)."""
    views: list[View] = []

    def keep(view: View) -> None:
        views.append(replace(view, pattern=view.pattern.clone(), z=view.z.clone()))

    batch = collate(encoded, pad_id=model.pad_id, facts=facts)
    with torch.inference_mode(), Tap(model.body, observer=keep, layout=model.layout) as tap:
        tap.watch(batch)
    whole = np.stack([view.pattern.numpy() for view in views], axis=1)
    cropped = [
        whole[i, :, :, : one.n_tokens, : one.n_tokens].copy() for i, one in enumerate(encoded)
    ]
    return Stored(tuple(encoded), tuple(cropped), tuple(views), model.layout)
