"""What the trained probes scored, and the weight that each head got."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headscope.probes.attention_probe import AttentionProbe
from headscope.probes.parse_batch import ROOT, parse_batch, parsing_stack
from headscope.probes.parse_training import Classroom, sorted_batches
from headscope.probes.student import Student
from headscope.stats import wilson_interval
from headscope.types import Encoded

#: The two directions of attention: the weights w and u of the probe.
DIRECTIONS = ("head_to_dependent", "dependent_to_head")


def tables(
    room: Classroom,
    students: Sequence[Student],
    dev: Sequence[Encoded],
    advance: Callable[[int], None],
) -> dict[str, Mapping[str, Any]]:
    """`parse_probe`: UAS without punctuation. `parse_probe_weights`: what the heads weigh."""
    right, n_words = room.examine(students, dev, advance)
    return {
        "parse_probe": _scores(students, right, n_words),
        "parse_probe_weights": _weights(room, students, dev),
    }


def _scores(students: Sequence[Student], right: Mapping[str, int], n: int) -> Mapping[str, Any]:
    by_name = {student.name: student for student in students}
    names = list(right)
    low, high = wilson_interval([right[name] for name in names], n)
    nobody = (np.nan, 0, 0, 0)
    told = [
        (s.best_uas, s.best_epoch, s.n_epochs, s.n_parameters)
        if (s := by_name.get(name))
        else nobody
        for name in names
    ]
    held, best, epochs, parameters = zip(*told, strict=True)
    return {
        "probe": names,
        "uas": [right[name] / n if n else np.nan for name in names],
        "ci_low": low,
        "ci_high": high,
        "n": [n] * len(names),
        "held_out_uas": list(held),
        "best_epoch": list(best),
        "n_epochs": list(epochs),
        "n_parameters": list(parameters),
    }


def _weights(
    room: Classroom, students: Sequence[Student], dev: Sequence[Encoded]
) -> Mapping[str, Any]:
    """The mean weight over the gold arcs between the words of dev; `n` is their number.

    `weight` is in units of the typical spread of the model's maps between candidates, `raw_weight`
    per unit of attention. Only for the attention probe is it the same at every arc.
    """
    probes = {s.name: s.probe for s in students if isinstance(s.probe, AttentionProbe)}
    totals = {name: torch.zeros_like(probe.weight) for name, probe in probes.items()}
    n_arcs = 0
    for part in sorted_batches(dev):
        batch = parse_batch(part, room.model, room.row_of)
        row, dependent = (batch.scored & (batch.heads != ROOT)).nonzero(as_tuple=True)
        candidates = batch.rows[row, batch.heads[row, dependent]]
        n_arcs += len(row)
        for name, probe in probes.items():
            totals[name] += probe.weights_at(candidates, room.vectors, batch.rows[row, dependent])
    layout = room.model.layout[parsing_stack(room.model)]
    heads = [(layer, head) for layer, n in enumerate(layout.n_heads) for head in range(n)]
    columns: dict[str, list[Any]] = {
        name: [] for name in ("layer", "head", "probe", "direction", "weight", "raw_weight", "n")
    }
    for name, probe in probes.items():
        mean = (totals[name].detach() / max(n_arcs, 1)).double().cpu()
        raw = mean * float(probe.scale)
        for d, direction in enumerate(DIRECTIONS):
            for k, (layer, head) in enumerate(heads):
                row_values = (layer, head, name, direction, mean[d, k], raw[d, k], n_arcs)
                for column, value in zip(columns.values(), row_values, strict=True):
                    column.append(value.item() if isinstance(value, torch.Tensor) else value)
    return {"stack": layout.stack, **columns}
