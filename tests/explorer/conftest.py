"""A folder with real runs, a small real model, and an explorer over both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

import headscope as hs
from headscope.explorer.limits import Limits
from headscope.explorer.live.passes import LiveModel
from headscope.models import LoadedModel, load
from tests.explorer.served import Served, serving
from tests.planted import VOCABULARY, planted_tokenizer

HOSTILE = "</script><img src=x onerror=document.title='hacked'>\u202eevil\u200b"
#: As many requests as tests like.
GENEROUS = Limits(
    requests=(10_000.0, 10_000), passes=(10_000.0, 10_000), questions=(10_000.0, 10_000),
    head_seconds=60.0, write_seconds=60.0,
)  # fmt: skip


@pytest.fixture(scope="session")
def small_masked() -> LoadedModel:
    """An untrained BERT with a masked-LM head: 3 layers × 4 heads that depend on each other."""
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=512, initializer_range=0.4,
    )  # fmt: skip
    tokenizer = planted_tokenizer()
    tokenizer.model_max_length = 512
    return load(BertForMaskedLM(config).eval(), tokenizer)


@pytest.fixture(scope="session")
def runs_folder(
    tmp_path_factory: pytest.TempPathFactory, planted_bert: LoadedModel, small_masked: LoadedModel
) -> Path:
    """Two runs of the planted model, one of them in a subfolder, and one of the live model."""
    folder = tmp_path_factory.mktemp("served")
    wanted = ["surface", "parser", "sieve", "entropy"]
    for name, limit in (("first", 12), ("deep er/second", 6)):
        corpus = hs.shipped_corpus() if name == "first" else hs.shipped_corpus(limit=limit)
        hs.analyze(planted_bert, corpus, folder / name, measures=wanted)
    few = hs.shipped_corpus(limit=6)
    hs.analyze(small_masked, few, folder / "small", measures=["surface", "sieve"])
    (folder / "secret.txt").write_text("not to be served")
    return folder


@pytest.fixture(scope="module")
def live_model(small_masked: LoadedModel) -> LiveModel:
    return LiveModel(small_masked, GENEROUS)


@pytest.fixture(scope="module")
def served(runs_folder: Path, live_model: LiveModel) -> Iterator[Served]:
    with serving(runs_folder, live=live_model, limits=GENEROUS) as found:
        yield found
