"""All default measures beside the bare forward pass, on long texts."""

from __future__ import annotations

from collections.abc import Iterator

from bench.lines.pass_cost import FACTS, SETTINGS
from bench.ratio import Line, compared
from bench.subject import annotated, bare_pass, bert_base, sequences
from headscope.engine import choose_measures
from headscope.engine.shard import run_shard


def lines() -> Iterator[Line]:
    model, encoded = bert_base(), [annotated(e) for e in sequences(4, 512)]
    measures = [m for m in choose_measures() if m.needs <= {"words", "dependencies"}]

    def ours() -> None:
        run_shard(model, measures, encoded, SETTINGS, FACTS)

    yield compared(
        f"analyze ({len(measures)} default measures, with trees) / bare eager forward, 512 tokens",
        ours,
        lambda: bare_pass(model, encoded),
        1.25,
    )
