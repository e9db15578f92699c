"""What the measures of attention's shapes cost, each beside the bare forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from bench.ratio import Line, alternated
from bench.subject import bert_base, sequences
from headscope.engine import Settings, choose_measures
from headscope.engine.batches import length_sorted
from headscope.engine.shard import run_shard
from headscope.measures import Measure
from headscope.models import collate

SETTINGS = Settings()
MEASURES = ("distance", "features", "cls_row")


def lines() -> Iterator[Line]:
    model, encoded = bert_base(), sequences(32, 128)

    def bare() -> None:
        with torch.inference_mode():
            for batch in length_sorted(encoded, SETTINGS.batch_tokens):
                model.model(**collate(batch).inputs)

    for name in MEASURES:
        measures = choose_measures([name])

        def ours(measures: Sequence[Measure] = measures) -> None:
            run_shard(model, measures, encoded, SETTINGS)

        yield Line(f"{name} / bare eager forward, 128 tokens", alternated(ours, bare), 1.08)
