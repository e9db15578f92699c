"""Answers with heads switched off, against planted heads and a forward pass written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    AlbertConfig,
    AlbertForSequenceClassification,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    OpenAIGPTConfig,
    OpenAIGPTForSequenceClassification,
)

from headscope.ablations import Ablation, Sweep, choose
from headscope.models import LoadedModel, head_set, load
from headscope.tasks import Answer, Example, Prepared, Split, Task, find_task, gold_numbers
from headscope.types import HeadId, Sequence
from tests.label_head import CARRIER
from tests.planted import PAD, planted_tokenizer

Ready = tuple[LoadedModel, Task, list[Prepared]]
TEXTS = (
    "the cat sat on the mat .",
    "a big dog ran",
    "she saw the red bird and the small mouse , not the old tree",
    "who ate it ?",
    "he sat",
)


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("fast", [True, False])
def test_one_head_carries_the_label(label_ready: Ready, how: str, fast: bool) -> None:
    model, task, prepared = label_ready
    ablations = choose("head", model.layout)
    sweep = Sweep(model, task, how, fast=fast)
    baseline, values = sweep.answers(prepared, ablations)
    accuracy, gold = task.all_metrics()[0], gold_numbers(prepared)
    assert sweep.fast is fast
    assert accuracy.score(task.named(baseline), gold) == 1.0
    for ablation, found in zip(ablations, values, strict=True):
        score = accuracy.score(task.named(found), gold)
        if ablation.single == CARRIER:
            assert score == 0.5
        else:
            assert score == 1.0
            # not only the answer: not one bit of the loss
            assert np.array_equal(found, baseline)


def _classifier() -> BertForSequenceClassification:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=40,
        pad_token_id=PAD,
        initializer_range=0.4,
        num_labels=2,
    )
    return BertForSequenceClassification(config).eval()


def _by_hand(model: Any, ids: Tensor, off: dict[int, dict[int, str]]) -> Tensor:
    """The logits of one unpadded text; `off[layer][head]` says how a head is switched off."""
    bert = model.bert
    embed = bert.embeddings
    n = len(ids)
    x = embed.word_embeddings.weight[ids] + embed.position_embeddings.weight[:n]
    x = embed.LayerNorm(x + embed.token_type_embeddings.weight[0])
    for number, layer in enumerate(bert.encoder.layer):
        part, heads = layer.attention.self, []
        d = part.attention_head_size
        for head in range(part.num_attention_heads):
            rows = slice(head * d, (head + 1) * d)
            q, k, v = (
                functional.linear(x, m.weight[rows], m.bias[rows])
                for m in (part.query, part.key, part.value)
            )
            weights = (q @ k.T / d**0.5).softmax(dim=-1)
            how = off.get(number, {}).get(head)
            if how == "zero":
                weights = torch.zeros(n, n)
            elif how == "uniform":
                weights = torch.full((n, n), 1 / n)
            elif how == "mean":
                weights = weights.mean(dim=0).expand(n, n)
            heads.append(weights @ v)
        out = layer.attention.output
        x = out.LayerNorm(out.dense(torch.cat(heads, dim=-1)) + x)
        x = layer.output.LayerNorm(
            layer.output.dense(functional.gelu(layer.intermediate.dense(x))) + x
        )
    pooled: Tensor = torch.tanh(bert.pooler.dense(x[0]))
    logits: Tensor = model.classifier(pooled)
    return logits


def _ready(model: Any) -> Ready:
    loaded = load(model, planted_tokenizer())
    task = find_task("sst2").for_model(loaded)
    examples = tuple(Example(Sequence(f"s{i}", text), i % 2) for i, text in enumerate(TEXTS))
    split = Split("dev", examples, (), "")
    prepared, _ = task.prepare(split, task.encoder(loaded, 24))
    return loaded, task, prepared


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
def test_a_forward_pass_by_hand_says_the_same(how: str) -> None:
    model, task, prepared = _ready(_classifier())
    sets = ["1-1", "2-3", "3-4", "1-2,3-1", "1-1,1-2,1-3,1-4"]
    ablations = [Ablation("set", head_set(heads), group=heads) for heads in sets]
    _, values = Sweep(model, task, how).answers(prepared, ablations)
    for ablation, found in zip(ablations, values, strict=True):
        off: dict[int, dict[int, str]] = {}
        for head in ablation.heads:
            off.setdefault(head.layer, {})[head.head] = how
        for row, one in zip(found, prepared, strict=True):
            with torch.no_grad():
                logits = _by_hand(model.model, torch.from_numpy(one.encoded.input_ids), off)
            loss = functional.cross_entropy(logits[None], torch.tensor([one.target]))
            assert row[0] == pytest.approx(float(loss), abs=2e-5)
            assert row[1] == int(logits.argmax())


def _distilbert() -> nn.Module:
    return DistilBertForSequenceClassification(
        DistilBertConfig(vocab_size=40, dim=24, n_layers=3, n_heads=4, hidden_dim=48)
    )


def _gpt2() -> nn.Module:
    return GPT2ForSequenceClassification(
        GPT2Config(vocab_size=40, n_embd=24, n_layer=3, n_head=4, n_positions=40, pad_token_id=PAD)
    )


def _gpt() -> nn.Module:
    return OpenAIGPTForSequenceClassification(
        OpenAIGPTConfig(
            vocab_size=40, n_embd=24, n_layer=3, n_head=4, n_positions=40, pad_token_id=PAD
        )
    )


def _modernbert() -> nn.Module:
    return ModernBertForSequenceClassification(
        ModernBertConfig(
            vocab_size=40,
            hidden_size=24,
            intermediate_size=48,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=40,
            pad_token_id=PAD,
            cls_token_id=2,
            sep_token_id=3,
            bos_token_id=2,
            eos_token_id=3,
        )
    )


def _albert() -> nn.Module:
    return AlbertForSequenceClassification(
        AlbertConfig(
            vocab_size=40,
            embedding_size=16,
            hidden_size=24,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=48,
            max_position_embeddings=40,
            pad_token_id=PAD,
        )
    )


@pytest.mark.parametrize(
    ("build", "skips"),
    [(_classifier, True), (_distilbert, True), (_gpt2, True), (_gpt, True), (_modernbert, True),
     (_albert, False)],
)  # fmt: skip
@pytest.mark.parametrize("how", ["zero", "uniform", "mean", "inter"])
def test_the_fast_way_answers_as_the_plain_one(build: Any, skips: bool, how: str) -> None:
    torch.manual_seed(0)
    model, task, prepared = _ready(build().eval())
    ablations = [*choose("head", model.layout), *choose("layer", model.layout)]
    fast = Sweep(model, task, how, batch_tokens=40, wide_tokens=400)
    plain = Sweep(model, task, how, fast=False, batch_tokens=40)
    standing = frozenset({HeadId(1, 1)})
    for kept in (frozenset[HeadId](), standing):
        baseline, values = fast.answers(prepared, ablations, standing=kept)
        same, slow = plain.answers(prepared, ablations, standing=kept)
        np.testing.assert_allclose(baseline, same, atol=2e-6)
        np.testing.assert_allclose(values, slow, atol=2e-6)
        assert np.array_equal(values[..., 1], slow[..., 1])
        for one, other in zip(values, slow, strict=True):
            mine, theirs = task.scores(one, prepared), task.scores(other, prepared)
            assert mine["accuracy"] == theirs["accuracy"]
    assert fast.fast is skips


def _small(kind: Any) -> Any:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=40, pad_token_id=PAD, initializer_range=0.4,
    )  # fmt: skip
    return kind(config).eval()


def test_other_tasks_the_fast_way() -> None:
    """Questions and language modelling: several outputs, and labels for every token."""
    questions = tuple(
        Example(
            Sequence(f"q{i}", "who sat ?", pair=text),
            (Answer(text.split()[1], text.find(" ") + 1),),
        )
        for i, text in enumerate(TEXTS)
    )
    texts = tuple(Example(Sequence(f"s{i}", text), None) for i, text in enumerate(TEXTS))
    for name, kind, examples in (
        ("squad", BertForQuestionAnswering, questions),
        ("masked_lm", BertForMaskedLM, texts),
    ):
        model = load(_small(kind), planted_tokenizer())
        task = find_task(name).for_model(model)
        prepared, _ = task.prepare(Split("dev", examples, (), ""), task.encoder(model, 24))
        ablations = choose("head", model.layout)
        found = []
        for fast in (True, False):
            sweep = Sweep(model, task, "uniform", fast=fast, batch_tokens=40, wide_tokens=400)
            found.append(sweep.answers(prepared, ablations)[1])
            assert sweep.fast is fast
        np.testing.assert_allclose(found[0], found[1], atol=2e-6)
        assert np.ptp(found[0][:, :, 0], axis=0).max() > 0, "heads should matter here"


def test_the_model_is_left_as_it_was(label_ready: Ready) -> None:
    model, task, prepared = label_ready
    before = {name: dict(m.__dict__) for name, m in model.model.named_modules()}
    Sweep(model, task, "zero").answers(prepared, choose("head", model.layout))
    for name, module in model.model.named_modules():
        assert module.__dict__.keys() == before[name].keys()
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_a_layer_that_gives_more_than_its_state_is_not_skipped(label_ready: Ready) -> None:
    model, task, _ = label_ready
    sweep = Sweep(model, task, "zero")
    shortcut = sweep._shortcut
    assert shortcut is not None
    shortcut._outputs = [(torch.zeros(1), torch.zeros(1))]
    assert not shortcut.plain
