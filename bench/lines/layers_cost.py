"""A question about one layer: the pass ends there, so it costs that much of a pass."""

from __future__ import annotations

from collections.abc import Iterator

from bench.ratio import Line, compared
from bench.subject import bert_base, sequences
from headscope.engine import Settings, choose_measures
from headscope.engine.shard import run_shard
from headscope.types import Facts

FACTS = Facts(n_sequences=2000)
N_LAYERS = 6


def lines() -> Iterator[Line]:
    model, encoded = bert_base(N_LAYERS), sequences(16, 128)
    measures = choose_measures()

    def whole() -> None:
        run_shard(model, measures, encoded, Settings(), FACTS)

    for layer in (1, 3, N_LAYERS):

        def one(layer: int = layer) -> None:
            run_shard(model, measures, encoded, Settings(layers=(layer,)), FACTS)

        share = layer / N_LAYERS
        yield compared(
            f"analyze --layers {layer} of {N_LAYERS} / the whole pass (in proportion: {share:.2f})",
            one,
            whole,
            share + 0.1,
        )
