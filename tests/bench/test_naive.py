"""The loops of `bench.naive` and the measures find the same numbers on the same maps."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from bench.naive.divergence import divergence
from bench.naive.entropy import entropy
from bench.naive.parsing import parsing
from bench.naive.sieve import SIEVES, sieve
from bench.naive.stored import Stored, stored
from bench.naive.surface import surface
from bench.naive.words import merged
from headscope.corpora import Corpus, ReadOptions
from headscope.engine.plan import encoder_for
from headscope.measures import build
from headscope.measures.surface_attention import TARGETS
from headscope.models import load
from headscope.models.word_attention import word_pattern
from headscope.types import Encoded
from tests.planted import planted_tokenizer

SHOWN = ("self", "prev", "next", "cls", "sep", "punct", "other")


@pytest.fixture(scope="module")
def maps() -> Stored:
    """Six annotated sentences of different lengths through a random BERT of 2 × 3 heads."""
    torch.manual_seed(0)
    tokenizer = planted_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=24, max_position_embeddings=128, initializer_range=0.6,
    )  # fmt: skip
    model = load(BertModel(config, add_pooling_layer=False), tokenizer)
    encoder = encoder_for(model)
    file = Path(str(files("headscope.corpora.shipped") / "passages.conllu"))
    texts = Corpus(file, options=ReadOptions(unit="sentence"), limit=6)
    found = [encoder.encode(text) for text in texts]
    encoded = [one for one in found if isinstance(one, Encoded)]
    assert len(encoded) == 6
    assert len({one.n_tokens for one in encoded}) > 2
    return stored(model, encoded)


def test_surface(maps: Stored) -> None:
    expected = np.nanmean([surface(m, e) for m, e in zip(maps.maps, maps.encoded, strict=True)], 0)
    places = [TARGETS.index(name) for name in SHOWN]
    for layer, value in enumerate(maps.observed(build("surface"))):
        np.testing.assert_allclose(value.mean[:, places], expected[layer], atol=1e-6)


def test_entropy(maps: Stored) -> None:
    expected = np.mean([entropy(m) for m in maps.maps], axis=0)
    for layer, value in enumerate(maps.observed(build("entropy"))):
        np.testing.assert_allclose(value.mean[:, 0], expected[layer], atol=1e-6)


def test_sieve(maps: Stored) -> None:
    each = [sieve(m, e) for m, e in zip(maps.maps, maps.encoded, strict=True)]
    expected = np.nanmean(each, axis=0)
    measure = build("sieve", {"roles": ",".join(SIEVES)})
    for layer, value in enumerate(maps.observed(measure)):
        np.testing.assert_allclose(value["moments"].mean, expected[layer], rtol=1e-5)


def test_word_merging(maps: Stored) -> None:
    for layer, view in enumerate(maps.views):
        ours = word_pattern(view).numpy()
        for i, (m, e) in enumerate(zip(maps.maps, maps.encoded, strict=True)):
            theirs = merged(m, e)[layer]
            n = theirs.shape[-1]
            np.testing.assert_allclose(ours[i, :, :n, :n], theirs, atol=1e-6)


def test_parsing(maps: Stored) -> None:
    hits: dict[str, np.ndarray] = {}
    trials: dict[str, int] = {}
    for m, e in zip(maps.maps, maps.encoded, strict=True):
        right, tried = parsing(m, e)
        for name, n in tried.items():
            trials[name] = trials.get(name, 0) + n
            hits[name] = hits.get(name, 0) + right[name]
    assert trials["all"] > 20
    for layer, value in enumerate(maps.observed(build("parser"))):
        counted = value["heads"]
        ours = {"all": counted["all"], **counted["relations"]}
        assert set(ours) == set(trials)
        for name, counts in ours.items():
            np.testing.assert_array_equal(counts.counts.sum(axis=0).T, hits[name][layer], name)
            assert set(counts.trials.sum(axis=0).ravel().tolist()) == {trials[name]}


def test_divergence(maps: Stored) -> None:
    expected = np.sum([divergence(m) for m in maps.maps], axis=0)
    value = maps.observed_together(build("divergence", {"rows": "all"}))
    np.testing.assert_allclose(value["mean"].total, expected, rtol=1e-4)
