"""Sentence vectors of every head and every layer, from one forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.errors import ModelError
from headscope.models import Batch, LoadedModel, Tap, View
from headscope.models.sentence_token import Pooling, pooled, reading_stack
from headscope.types import HeadId, Stack


@dataclass(frozen=True)
class VectorLayout:
    """Where every head and every layer lies in the row of numbers that a sentence becomes.

    All heads come first, layer after layer, then the layers' hidden states.

    >>> layout = VectorLayout("self", ((4, 4), (4, 4)), (8, 8))
    >>> layout.width, layout.head(HeadId(1, 0)), layout.layer(1)
    (32, slice(8, 12, None), slice(24, 32, None))
    """

    stack: Stack
    head_widths: tuple[tuple[int, ...], ...]
    layer_widths: tuple[int, ...]

    @cached_property
    def heads(self) -> tuple[HeadId, ...]:
        return tuple(
            HeadId(layer, head, self.stack)
            for layer, widths in enumerate(self.head_widths)
            for head in range(len(widths))
        )

    @cached_property
    def _places(self) -> tuple[dict[HeadId, slice], tuple[slice, ...]]:
        at = 0
        heads: dict[HeadId, slice] = {}
        for head in self.heads:
            width = self.head_widths[head.layer][head.head]
            heads[head] = slice(at, at + width)
            at += width
        layers = []
        for width in self.layer_widths:
            layers.append(slice(at, at + width))
            at += width
        return heads, tuple(layers)

    @property
    def n_layers(self) -> int:
        return len(self.layer_widths)

    @property
    def width(self) -> int:
        return sum(map(sum, self.head_widths)) + sum(self.layer_widths)

    def head(self, head: HeadId) -> slice:
        """The columns of a head's output."""
        return self._places[0][head]

    def layer(self, layer: int) -> slice:
        """The columns of a layer's hidden state."""
        return self._places[1][layer]


def sentence_vectors(
    model: LoadedModel, batch: Batch, how: Pooling
) -> tuple[Float[Tensor, "batch width"], VectorLayout]:
    """Each sequence as one row: `z` of every head and the hidden state of every layer.

        row = z[0, 0] … z[L−1, H−1], hidden[0] … hidden[L−1], each at the token `how` names

    `z` is a head's output before the output projection. The hidden state is what a layer hands to
    the next one; of the last layer it is the model's output, behind its last normalisation in
    families that have one there (GPT-2, Llama). A row that is not finite is refused (`ModelError`).
    Source: Jo & Myaeng (2020), §3, h_{i,j} and z_i.
    """
    stack = reading_stack(model)
    heads: dict[int, Tensor] = {}

    def observer(view: View) -> None:
        if view.stack == stack:
            heads[view.layer] = pooled(view.z, view.queries.real, how)

    with torch.inference_mode(), Tap(model.body, observer=observer, layout=model.layout) as tap:
        output = tap.forward(batch, output_hidden_states=True)
        states = _hidden_states(output, stack, len(heads), model.name)
        layers = [pooled(state.float(), batch.source.real, how) for state in states]
    z = [heads[layer] for layer in sorted(heads)]
    layout = VectorLayout(
        stack,
        tuple((one.shape[-1],) * one.shape[1] for one in z),
        tuple(one.shape[-1] for one in layers),
    )
    rows = torch.cat([*(one.flatten(1) for one in z), *layers], dim=1)
    _check_finite(rows, batch, model.name)
    return rows, layout


def _check_finite(rows: Float[Tensor, "batch width"], batch: Batch, name: str) -> None:
    if bool(rows.sum().isfinite()):
        return
    broken = (~rows.isfinite().all(dim=1)).tolist()
    ids = [one.sequence.id for one, bad in zip(batch.encoded, broken, strict=True) if bad]
    if ids:
        raise ModelError(
            f"{name}: the vectors of {len(ids)} of {len(broken)} texts are not finite (first: "
            f"{ids[0]}). The weights may be damaged, or the numbers too large for their type"
        )


def _hidden_states(output: Any, stack: Stack, n_layers: int, name: str) -> list[Tensor]:
    """What every layer hands on; the first of the library's states are the embeddings."""
    key = "encoder_hidden_states" if stack == "encoder" else "hidden_states"
    states = getattr(output, key, None)
    if states is None or len(states) <= n_layers:
        found = "none" if states is None else str(len(states))
        raise ModelError(
            f"{name} gives {found} hidden states for {n_layers} layers; expected one more"
        )
    return list(states[-n_layers:])
