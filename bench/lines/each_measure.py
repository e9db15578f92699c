"""What each default measure adds to a pass, alone, on texts that have all annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bench.ratio import Line, compared
from bench.subject import bare_pass, bert_base
from headscope.corpora import shipped_corpus
from headscope.engine import Settings, choose_measures
from headscope.engine.plan import encoder_for
from headscope.engine.shard import run_shard
from headscope.measures import LayerMeasure, Total
from headscope.models import LoadedModel, View, load
from headscope.types import Encoded, Facts, FactsBuilder, Result
from headscope.values import Counts

SETTINGS = Settings()
N_TEXTS = 24


class Nothing(LayerMeasure):
    """Asks for every layer and looks at none: what is left is the cost of the tap."""

    name: ClassVar[str] = "nothing"

    def observe(self, view: View) -> Counts:
        return Counts(np.zeros((view.n_heads, 1), np.int64))

    def finish(self, total: Total) -> Result:
        return Result({})


def subject() -> tuple[LoadedModel, list[Encoded], Facts]:
    """BERT-base's shape, and shipped passages as a real tokenizer cuts them."""
    model = bert_base()
    encoder = encoder_for(load("default"), max_tokens=128)
    found = encoder.encode_many(list(shipped_corpus(limit=N_TEXTS).sequences()))
    encoded = [one for one in found if isinstance(one, Encoded)]
    facts = FactsBuilder()
    for one in encoded:
        facts.add(one)
    return model, encoded, facts.build()


def lines() -> Iterator[Line]:
    model, encoded, facts = subject()

    def bare() -> None:
        bare_pass(model, encoded)

    def nothing() -> None:
        run_shard(model, [Nothing()], encoded, SETTINGS, facts)

    n_tokens = sum(one.n_tokens for one in encoded) // len(encoded)
    yield compared(
        f"the tap alone, no measure / bare eager forward, {n_tokens} tokens in the mean",
        nothing,
        bare,
        1.10,
    )
    for measure in choose_measures():

        def alone(measure: object = measure) -> None:
            run_shard(model, [measure], encoded, SETTINGS, facts)  # type: ignore[list-item]

        yield compared(
            f"{measure.name} alone / bare eager forward, shipped passages", alone, bare, 1.20
        )
