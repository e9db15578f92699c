"""Sentence vectors of a model, streamed into a cache: what is there already is not computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from headscope.corpora import Dropped, Encoder, TooLong
from headscope.engine.batches import length_sorted
from headscope.engine.executor import Advance, Executor, Item, Packed, in_order
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.plan import encoder_for
from headscope.engine.progress import Progress, Silent
from headscope.models import LoadedModel, collate
from headscope.models.sentence_token import Pooling
from headscope.probes.head_vectors import VectorLayout, sentence_vectors
from headscope.probes.vector_cache import VectorCache, text_key
from headscope.types import Encoded
from headscope.types import Sequence as Text

#: Texts whose vectors are written together: what a crash can cost.
_SHARD = 1024
#: Small batches stay near the processor; vectors need no large ones.
_BATCH_TOKENS = 2048


def vector_layout(model: LoadedModel, how: Pooling) -> VectorLayout:
    """Where heads and layers lie in a row, learnt from a text of one letter."""
    one = encoder_for(model, dropped="skip").encode(Text("probe", "a"))
    if not isinstance(one, Encoded):  # a tokenizer without letters
        one = encoder_for(model).encode(Text("probe", "0"))
    if not isinstance(one, Encoded):
        raise TypeError(f"expected an encoded text, found {one}")
    batch = collate([one], pad_id=model.pad_id, device=model.device)
    return sentence_vectors(model, batch, how)[1]


def open_cache(model: LoadedModel, folder: Path, how: Pooling, encoder: Encoder) -> VectorCache:
    """The cache of a model's vectors; one of another model or another token is refused."""
    identity = {
        "model": model.fingerprint(),
        "token": how,
        "max_tokens": encoder.max_tokens,
        "dtype": model.dtype,
    }
    return VectorCache.open(folder, vector_layout(model, how), identity)


def fill_cache(
    model: LoadedModel,
    texts: Sequence[Text],
    cache: VectorCache,
    how: Pooling,
    encoder: Encoder,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> dict[str, int]:
    """Compute the vectors of all texts that the cache lacks; counts of all texts.

    Texts are written in shards, so that a killed extraction goes on after the last whole one.
    """
    progress, executor = progress or Silent(), executor or LocalExecutor()
    unique = unique_texts(texts)
    progress.stage("Reading sentence vectors", len(unique))
    counts = {"n_sequences": len(unique), "n_tokens": 0, "n_cut": 0, "n_too_large": 0, "n_new": 0}
    listed = list(unique.items())
    keys: dict[int, list[bytes]] = {}

    def items() -> Iterator[Item]:
        for start in range(0, len(listed), _SHARD):
            shard = listed[start : start + _SHARD]
            encoded: list[Encoded] = []
            fresh: list[bytes] = []
            for (key, _), one in zip(shard, encoder.encode_many(t for _, t in shard), strict=True):
                if isinstance(one, TooLong | Dropped):
                    raise TypeError(f"{one}: the encoder was not told to cut")
                counts["n_tokens"] += one.n_tokens
                counts["n_cut"] += one.n_cut > 0
                if key not in cache:
                    encoded.append(one)
                    fresh.append(key)
            n_known = len(shard) - len(fresh)
            progress.advance(n_known, n_known)
            if fresh:
                index = len(keys)
                keys[index] = fresh
                yield Item(index, encoded, len(fresh), len(fresh))

    results = executor.map(VectorJob(model, how), items(), progress)
    for index, (arrays, _) in enumerate(in_order(results, count())):
        counts["n_too_large"] += cache.append(keys[index], arrays["rows"])
        counts["n_new"] += len(keys[index])
        keys[index] = []
    return counts


def unique_texts(texts: Iterable[Text]) -> dict[bytes, Text]:
    """Every different text (or pair) once, by its key, in order."""
    found: dict[bytes, Text] = {}
    for text in texts:
        found.setdefault(text_key(text.text, text.pair), text)
    return found


@dataclass(frozen=True, eq=False)
class VectorJob:
    """Encoded texts in, a row of numbers for each out."""

    model: LoadedModel
    how: Pooling

    def run(self, work: Sequence[Encoded], advance: Advance) -> Packed:
        model = self.model
        place = {id(one): i for i, one in enumerate(work)}
        table: Any = None
        for part in length_sorted(work, _BATCH_TOKENS):
            batch = collate(part, pad_id=model.pad_id, device=model.device)
            vectors = sentence_vectors(model, batch, self.how)[0].cpu().numpy()
            if table is None:
                table = np.empty((len(work), vectors.shape[1]), np.float32)
            table[[place[id(one)] for one in part]] = vectors
        advance(len(work), len(work))
        return {"rows": table}, {}
