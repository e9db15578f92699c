"""The probes that are trained side by side, and what each of them may look at."""

from __future__ import annotations

from typing import Final

import torch

from headscope.probes.attention_probe import AttentionProbe
from headscope.probes.distance_probe import DistanceProbe
from headscope.probes.student import Schedule, Student

#: The probes that need word vectors.
WITH_VECTORS: Final = ("attention_vectors", "distance_vectors", "random_attention_vectors")


def make_students(
    *,
    n_maps: int,
    n_dimensions: int,
    attention: Schedule,
    vectors: Schedule,
    distance: Schedule,
    seed: int,
) -> list[Student]:
    """The attention probe, and if there are word vectors the three probes that use them.

    `model` and `twin` are the names under which they find the maps of the model and of its twin
    with random weights.
    """
    students = [Student("attention", AttentionProbe(n_maps), "model", attention)]
    if not n_dimensions:
        return students
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        by_distance = DistanceProbe(n_dimensions)
    return [
        *students,
        Student("attention_vectors", AttentionProbe(n_maps, n_dimensions), "model", vectors),
        Student("distance_vectors", by_distance, None, distance),
        Student("random_attention_vectors", AttentionProbe(n_maps, n_dimensions), "twin", vectors),
    ]
