"""One shard of a pass: a pure function, the same for every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from headscope.engine.batches import length_sorted, width
from headscope.engine.gradients import observe_gradients
from headscope.engine.layers import chosen_layers
from headscope.engine.left_out import LEFT_OUT, BrokenRowsError, checked
from headscope.engine.settings import Settings
from headscope.errors import HeadscopeError
from headscope.measures import (
    ALL_LAYERS,
    GradientMeasure,
    LayerMeasure,
    Measure,
    Place,
    StackMeasure,
)
from headscope.measures.later import arrived
from headscope.models import Layout, LoadedModel, Tap, View, collate
from headscope.types import Encoded, Facts, Stack
from headscope.values import Value

#: Values of a pass by (measure, layer of a stack).
Values: TypeAlias = dict[tuple[str, Place], Value]

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def add(total: Values, more: Values) -> None:
    """Add `more` to `total`, in place; both keep the order of first appearance."""
    for key, value in more.items():
        total[key] = total[key] + value if key in total else value


def run_shard(
    model: LoadedModel,
    measures: Sequence[Measure],
    encoded: Sequence[Encoded],
    settings: Settings,
    facts: Facts | None = None,
    advance: Callable[[int, int], None] = lambda n_sequences, n_tokens: None,
) -> Values:
    """Every measure's values over the sequences of one shard.

    `advance` hears of every finished batch: its sequences and tokens.
    """
    total: Values = {}
    known, only = facts or Facts(), chosen_layers(model, settings.layers)

    def observe(part: Sequence[Encoded]) -> Values:
        return leaving_out(lambda some: _observe(model, measures, some, known, only), part)

    for batch in length_sorted(encoded, settings.batch_tokens):
        add(total, in_halves(observe, batch))
        advance(len(batch), sum(e.n_tokens for e in batch))
    return total


def in_halves(observe: Callable[[Sequence[Encoded]], Values], encoded: Sequence[Encoded]) -> Values:
    """What `observe` finds in a batch; where memory does not suffice, in its halves, and so on."""
    try:
        return observe(encoded)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        if len(encoded) == 1:
            raise HeadscopeError(
                f"out of memory on a single sequence of {width(encoded[0])} tokens "
                f"({encoded[0].sequence.id}); try a smaller --max-tokens"
            ) from None
    half = len(encoded) // 2
    total = in_halves(observe, encoded[:half])
    add(total, in_halves(observe, encoded[half:]))
    return total


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return any(sign in str(error).lower() for sign in _OUT_OF_MEMORY)


def leaving_out(
    observe: Callable[[Sequence[Encoded]], Values], encoded: Sequence[Encoded]
) -> Values:
    """What `observe` finds; sequences with broken rows are left out of it all, and counted."""
    try:
        return observe(encoded)
    except BrokenRowsError as error:
        rest = error.rest(encoded)
        values = leaving_out(observe, rest) if rest else {}
        add(values, {(LEFT_OUT, error.place): error.counted})
        return values


def _observe(
    model: LoadedModel,
    measures: Sequence[Measure],
    encoded: Sequence[Encoded],
    facts: Facts,
    only: Layout,
) -> Values:
    values: Values = {}
    by_gradient = [m for m in measures if isinstance(m, GradientMeasure)]
    for part in observe_gradients(model, by_gradient, encoded, facts, only):
        add(values, part)
    if len(by_gradient) == len(measures):
        return values
    by_layer = [m for m in measures if isinstance(m, LayerMeasure)]
    by_stack = [m for m in measures if isinstance(m, StackMeasure)]
    kept: dict[tuple[str, Stack], list[Any]] = {}

    def observer(view: View) -> None:
        view = checked(view)
        stack = model.layout[view.stack]
        mine = [measure for measure in by_layer if measure.applies_to(stack)]
        place = Place(view.stack, view.layer)
        for measure, value in zip(mine, arrived([m.look(view) for m in mine]), strict=True):
            values[measure.name, place] = value
        for whole in by_stack:
            if whole.applies_to(stack):
                part = whole.keep(view, only[view.stack])
                kept.setdefault((whole.name, view.stack), []).append(part)

    batch = collate(encoded, pad_id=model.pad_id, device=model.device, facts=facts)
    with torch.inference_mode(), Tap(model.body, observer=observer, layout=model.layout) as tap:
        tap.watch(batch, only)
        for whole in by_stack:
            for stack in model.layout.stacks:
                if (parts := kept.get((whole.name, stack.stack))) is not None:
                    values[whole.name, Place(stack.stack, ALL_LAYERS)] = whole.observe(parts)
    return values
