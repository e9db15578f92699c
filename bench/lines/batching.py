"""What sorting by length saves: the same forward passes over batches in the corpus's order.

The lengths are those of EWT's dev part (HEADSCOPE_DATA, by default the folder beside the
repository); without it, of the shipped corpus.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from bench.ratio import Line, compared
from bench.subject import bert_base, sequences
from headscope.corpora import Corpus, shipped_corpus
from headscope.engine import Settings
from headscope.engine.batches import length_sorted
from headscope.engine.plan import encoder_for
from headscope.models import LoadedModel, collate, load
from headscope.types import Encoded

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
SETTINGS = Settings()
N_TEXTS = 512


def lengths() -> tuple[str, list[int]]:
    """A corpus and how many tokens its first texts have."""
    file = Path(os.environ.get("HEADSCOPE_DATA", _BESIDE)) / "dependencies/en_ewt-ud-dev.conllu"
    corpus = Corpus(file, limit=N_TEXTS) if file.is_file() else shipped_corpus(limit=N_TEXTS)
    encoder = encoder_for(load("default"), max_tokens=128, dropped="skip")
    found = encoder.encode_many(list(corpus.sequences()))
    name = "EWT" if file.is_file() else "the shipped corpus"
    return name, [one.n_tokens for one in found if isinstance(one, Encoded)]


def in_order(encoded: Sequence[Encoded], batch_tokens: int) -> Iterator[list[Encoded]]:
    """Batches as they come, each as large as its padded size allows."""
    batch: list[Encoded] = []
    for one in encoded:
        widest = max([one.n_tokens, *(e.n_tokens for e in batch)])
        if batch and widest * (len(batch) + 1) > batch_tokens:
            yield batch
            batch = []
        batch.append(one)
    yield batch


def _forward(model: LoadedModel, batches: Iterator[list[Encoded]]) -> None:
    with torch.inference_mode():
        for batch in batches:
            model.model(**collate(batch).inputs)


def lines() -> Iterator[Line]:
    name, sizes = lengths()
    model = bert_base(2)
    encoded = [sequences(1, n, seed=i)[0] for i, n in enumerate(sizes)]

    def ours() -> None:
        for start in range(0, len(encoded), SETTINGS.shard_size):
            shard = encoded[start : start + SETTINGS.shard_size]
            _forward(model, length_sorted(shard, SETTINGS.batch_tokens))

    def fixed() -> None:
        _forward(model, in_order(encoded, SETTINGS.batch_tokens))

    real = sum(sizes)
    padded = sum(
        len(b) * max(e.n_tokens for e in b) for b in in_order(encoded, SETTINGS.batch_tokens)
    )
    detail = f" ({1 - real / padded:.0%} of the tokens in fixed order are padding)"
    what = f"batches sorted by length / in the corpus's order, {len(sizes)} texts of {name}"
    yield compared(what, ours, fixed, 0.8, rounds=3, detail=detail)
