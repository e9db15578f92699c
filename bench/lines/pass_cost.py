"""What the pass costs beside the bare forward pass, and beside the loop people write today."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from bench.ratio import Line, compared
from bench.subject import bare_pass, bert_base, sequences
from headscope.engine import Settings, choose_measures
from headscope.engine.shard import run_shard
from headscope.models import collate
from headscope.types import Facts

SETTINGS = Settings()

#: The sequences stand for a corpus of this size: some measures look at a sample of a large one.
FACTS = Facts(n_sequences=2000)
FOUNDATION = ("surface", "entropy")


def lines() -> Iterator[Line]:
    model, encoded = bert_base(), sequences(16, 128)
    measures, few = choose_measures(), choose_measures(FOUNDATION)

    def ours() -> None:
        run_shard(model, measures, encoded, SETTINGS, FACTS)

    def surface_and_entropy() -> None:
        run_shard(model, few, encoded, SETTINGS, FACTS)

    def bare() -> None:
        bare_pass(model, encoded)

    def todays_loop() -> None:
        with torch.inference_mode():
            for one in encoded:
                output = model.model(**collate([one]).inputs, output_attentions=True)
                for layer in output.attentions:
                    _measured_by_hand(layer[0].numpy(), one.kinds)

    yield compared(
        f"analyze ({' + '.join(FOUNDATION)}) / bare eager forward, 128 tokens",
        surface_and_entropy,
        bare,
        1.25,
    )
    yield compared(
        f"analyze (all {len(measures)} default measures) / bare eager forward, 128 tokens",
        ours,
        bare,
        1.25,
    )
    yield compared(
        f"analyze ({' + '.join(FOUNDATION)}) / the same numbers one sequence at a time with "
        "output_attentions, 128 tokens",
        surface_and_entropy,
        todays_loop,
        0.8,
    )
    yield compared(
        f"analyze (all {len(measures)} default measures) / that loop, which has two of them",
        ours,
        todays_loop,
        float("inf"),
        rounds=3,
    )


def _measured_by_hand(attention: NDArray[np.float32], kinds: NDArray[np.int8]) -> None:
    """The same numbers the usual way: numpy over one sequence's stored maps."""
    for offset in (0, -1, 1):
        attention.diagonal(offset, axis1=1, axis2=2).sum(axis=1)
    for kind in range(5):
        attention[:, :, kinds == kind].sum(axis=2).mean(axis=1)
    positive = np.where(attention > 0, attention, 1.0)
    (-(positive * np.log(positive)).sum(axis=2)).mean(axis=1)
