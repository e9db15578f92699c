"""What naming the shapes of maps adds to a pass."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.ratio import Line, compared
from bench.subject import bare_pass, bert_base, sequences
from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.measures import build
from headscope.types import Facts

SETTINGS = Settings()


def lines() -> Iterator[Line]:
    model, encoded = bert_base(), sequences(16, 128)
    measure = build("patterns")

    def bare() -> None:
        bare_pass(model, encoded)

    for n_sequences, which, target in (
        (2000, "a corpus of 2,000 (one sequence in eight)", 1.10),
        (len(encoded), "every sequence", 1.25),
    ):
        facts = Facts(n_sequences=n_sequences)
        ours = partial(run_shard, model, [measure], encoded, SETTINGS, facts)
        yield compared(f"patterns / bare eager forward, {which}, 128 tokens", ours, bare, target)
