"""What naming the shapes of maps adds to a pass."""

from __future__ import annotations

from collections.abc import Iterator

from bench.ratio import Line, alternated
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

    def of_a_corpus(n_sequences: int) -> float:
        facts = Facts(n_sequences=n_sequences)
        return alternated(lambda: run_shard(model, [measure], encoded, SETTINGS, facts), bare)

    yield Line(
        "patterns / bare eager forward, a corpus of 2,000 (one sequence in eight), 128 tokens",
        of_a_corpus(2000),
        1.10,
    )
    yield Line("patterns / bare eager forward, every sequence, 128 tokens", of_a_corpus(16), 1.25)
