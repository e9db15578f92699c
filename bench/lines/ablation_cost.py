"""All single-head ablations beside the naive loop: a full forward pass for every head."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from bench.ratio import Line, compared
from bench.subject import sequences
from headscope.ablations import Sweep, choose
from headscope.models import LoadedModel, describe
from headscope.tasks import Example, Prepared, find_task


def minilm_shaped() -> LoadedModel:
    """6 layers × 12 heads, hidden size 384, two classes, random weights."""
    torch.manual_seed(0)
    config = BertConfig(
        num_hidden_layers=6,
        hidden_size=384,
        intermediate_size=1536,
        initializer_range=0.2,
        num_labels=2,
    )
    model = BertForSequenceClassification(config).eval()
    layout = describe(model)
    return LoadedModel(model, None, "MiniLM-shaped", "", layout, "sequence-classification")


def lines() -> Iterator[Line]:
    model, task = minilm_shaped(), find_task("sst2")
    prepared = [
        Prepared(encoded, Example(encoded.sequence, i % 2), i % 2)
        for i, encoded in enumerate(sequences(8, 32))
    ]
    ablations = choose("head", model.layout)
    fast, naive = Sweep(model, task, "uniform"), Sweep(model, task, "uniform", fast=False)
    mine, theirs = (sweep.answers(prepared, ablations)[1] for sweep in (fast, naive))
    same = all(
        task.scores(a, prepared)["accuracy"] == task.scores(b, prepared)["accuracy"]
        for a, b in zip(mine, theirs, strict=True)
    )
    largest = float(np.abs(mine - theirs).max())
    if not same:
        yield Line("ablations: accuracies as with a full forward pass", float("inf"), 0)
    yield compared(
        f"all {len(ablations)} single-head ablations / a full forward pass for each, 32 tokens",
        lambda: fast.answers(prepared, ablations),
        lambda: naive.answers(prepared, ablations),
        0.55,
        detail=f" (losses within {largest:.0e})",
    )
