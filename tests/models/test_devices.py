"""Devices and types of numbers; and how often numbers travel, counted without any GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.corpora import Corpus, shipped_corpus
from headscope.engine import Settings, choose_measures
from headscope.engine.batches import length_sorted
from headscope.engine.plan import encoder_for
from headscope.engine.shard import run_shard
from headscope.errors import UsageError
from headscope.measures.later import Later, arrived, moments_later, on_host
from headscope.models import LoadedModel, load
from headscope.models.devices import chosen_device, chosen_dtype
from headscope.types import Encoded
from headscope.values import Moments
from tests.planted import VOCABULARY, planted_tokenizer

#: What makes the host wait for a GPU: numbers that come over, and questions about them.
_COMING = {
    torch.Tensor.cpu, torch.Tensor.item, torch.Tensor.tolist, torch.Tensor.__bool__,
    torch.Tensor.__int__, torch.Tensor.__float__, torch.Tensor.__index__, torch.equal,
    torch.Tensor.nonzero, torch.nonzero,
}  # fmt: skip


class _Counting(TorchFunctionMode):
    """Counts what would be transfers if the tensors were on a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: Counter[str] = Counter()
        self.going: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", str(func))
        if func in _COMING:
            self.coming[name] += 1
        elif func is torch.Tensor.to and any(isinstance(a, torch.device | str) for a in args[1:]):
            self.going[name] += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def counted() -> Iterator[_Counting]:
    with _Counting() as mode:
        yield mode


def model_of(n_layers: int, n_heads: int) -> LoadedModel:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16 * n_heads,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    return load(BertModel(config, add_pooling_layer=False), planted_tokenizer())


def encoded_texts(model: LoadedModel, n: int) -> list[Encoded]:
    """Annotated texts, so that every measure has something to do, all in one batch."""
    found = encoder_for(model, dropped="skip").encode_many(shipped_corpus(limit=4 * n))
    return [one for one in found if isinstance(one, Encoded)][:n]


def transfers(
    model: LoadedModel, n_texts: int, names: list[str] | None = None, **parameters: Any
) -> Counter[str]:
    measures = choose_measures(names, parameters)
    texts = encoded_texts(model, n_texts)
    settings = Settings(batch_tokens=10**6)
    assert len(list(length_sorted(texts, settings.batch_tokens))) == 1
    with counted() as mode:
        run_shard(model, measures, texts, settings)
    return mode.coming


def test_transfers_do_not_grow_with_heads_texts_or_roles() -> None:
    base = transfers(model_of(3, 2), 4)
    assert transfers(model_of(3, 6), 4) == base, "heads"
    few, many = transfers(model_of(3, 2), 6), transfers(model_of(3, 2), 24)
    assert sum(many.values()) <= sum(few.values()) + 2, "texts"
    one, all_ = (
        transfers(model_of(3, 2), 4, ["sieve"], sieve={"roles": roles})
        for roles in ("local", "local,prev_local,next_local,cls,sep,syntactic,nsubj,rare,bpe")
    )
    assert one == all_, "roles"


def test_a_layer_comes_home_in_a_handful_of_transfers() -> None:
    """All measures of a layer share them: one per type of number, and questions of a bit each."""
    deep, shallow = transfers(model_of(6, 2), 4), transfers(model_of(2, 2), 4)
    per_layer = {kind: (deep[kind] - shallow[kind]) / 4 for kind in deep}
    # float32; float64 (sums over draws); the words that heads point to
    assert per_layer["cpu"] <= 3, per_layer
    # is every row finite? may this layer see what the last one saw?
    assert sum(per_layer.values()) <= 5, per_layer


def test_counting_would_notice_a_measure_that_fetches_for_itself() -> None:
    with counted() as mode:
        for head in torch.zeros(3, 2).unbind():
            head.cpu()
            float(head.sum())
    assert mode.coming == {"cpu": 3, "__float__": 3}


def test_numbers_of_several_measures_arrive_as_they_would_alone() -> None:
    generator = torch.Generator().manual_seed(0)
    floats = torch.rand(5, 3, 2, generator=generator)
    more = torch.rand(5, 1, generator=generator)
    whole = torch.arange(6).reshape(2, 3)
    given: list[Any] = [
        moments_later(floats),
        Moments.of([[1.0]]),
        Later((whole, more), lambda a, b: Moments.of(np.concatenate([a.ravel(), b.ravel()]))),
        moments_later(more.to(torch.bfloat16)),
    ]
    found = arrived(given)
    assert found[0].identical(Moments.of(floats.double().numpy()))
    assert found[1] is given[1]
    assert found[2].identical(Moments.of([*range(6), *more.double().ravel().tolist()]))
    assert found[3].identical(Moments.of(more.to(torch.bfloat16).double().numpy()))
    assert arrived([]) == []
    with counted() as mode:
        arrays = on_host([floats, whole, more, floats.mT])
    assert mode.coming == {"cpu": 2}
    assert [a.dtype for a in arrays] == [np.float64, np.int64, np.float64, np.float64]
    np.testing.assert_array_equal(arrays[3], floats.mT.double().numpy())


def test_device_and_type_by_name() -> None:
    assert chosen_device("cpu") == torch.device("cpu")
    best = (
        "cuda"
        if torch.cuda.is_available()
        else "mps"
        if torch.backends.mps.is_available()
        else "cpu"
    )
    assert chosen_device("auto") == torch.device(best)
    with pytest.raises(UsageError, match="expected auto, cpu, cuda or mps"):
        chosen_device("gpu")
    with pytest.raises(UsageError, match="expected float32, bfloat16, float16"):
        chosen_dtype("int8")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_measured_in_single(
    dtype: Any, planted_folder: Path, tmp_path: Path
) -> None:
    model = load(planted_folder, dtype=dtype)
    assert model.dtype == dtype
    corpus = Corpus.of(["the cat sat on the mat.", "she saw it, and he ran."])
    half = hs.analyze(model, corpus, tmp_path / "half", measures=["surface", "entropy"])
    whole = hs.analyze(load(planted_folder), corpus, tmp_path / "whole", measures=["surface"])
    assert half.record.model.dtype == dtype
    assert half.record.model.fingerprint != whole.record.model.fingerprint
    ours, theirs = half.table("surface")["mean"], whole.table("surface")["mean"]
    assert ours.type == "double"
    np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), atol=0.02)
