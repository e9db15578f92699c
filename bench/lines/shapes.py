"""What the measures of attention's shapes cost, each beside the bare forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.ratio import Line, compared
from bench.subject import bare_pass, bert_base, sequences
from headscope.engine import Settings, choose_measures
from headscope.engine.shard import run_shard
from headscope.measures import Measure

SETTINGS = Settings()
MEASURES = ("distance", "features", "cls_row")


def lines() -> Iterator[Line]:
    model, encoded = bert_base(), sequences(16, 128)

    def bare() -> None:
        bare_pass(model, encoded)

    for name in MEASURES:
        measures = choose_measures([name])

        def ours(measures: Sequence[Measure] = measures) -> None:
            run_shard(model, measures, encoded, SETTINGS)

        yield compared(f"{name} / bare eager forward, 128 tokens", ours, bare, 1.08)
