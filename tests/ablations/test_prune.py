"""Pruned models: written, loaded with plain transformers, equal to the zero edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AlbertConfig,
    AlbertModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    BartConfig,
    BartModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5Model,
)

from headscope.ablations.prune import prune
from headscope.engine.prune import prune_folder
from headscope.errors import RunError, UsageError
from headscope.models import Tap, head_set, load
from headscope.models.edits import Zero
from tests.label_head import save_label_model
from tests.planted import PAD, planted_tokenizer

IDS = torch.tensor([[5, 9, 12, 20, 31, 8, 17, 30], [6, 7, 8, 9, 10, 11, 12, 13]])


def _llama(n_kv: int = 4) -> Any:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=40,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=8,
            num_key_value_heads=n_kv,
            max_position_embeddings=64,
            pad_token_id=PAD,
            initializer_range=0.3,
        )
    ).eval()


def _saved(model: Any, folder: Path) -> str:
    model.save_pretrained(folder)
    planted_tokenizer().save_pretrained(folder)
    return str(folder)


def test_smaller_projections_where_the_family_allows_it(tmp_path: Path) -> None:
    model = _llama()
    # two heads share their keys: groups of two go, another one in every layer
    heads = head_set("1-1,1-2,1-5,1-6,2-3,2-4,2-7,2-8")
    with torch.no_grad(), Tap(model, edits=[Zero(heads=heads)]):
        expected = model(input_ids=IDS).logits
    report = prune_folder(_saved(model, tmp_path / "llama"), heads, tmp_path / "small")
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "small").eval()
    assert plain.config.num_attention_heads == 4
    assert plain.config.num_key_value_heads == 2
    assert plain.model.layers[0].self_attn.q_proj.weight.shape == (16, 32)
    with torch.no_grad():
        found = plain(input_ids=IDS).logits
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert report.pruned.shrunk
    assert report.bytes_after < report.bytes_before
    told = json.loads((tmp_path / "small" / "prune.json").read_text())
    assert told["smaller_projections"] is True


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ("1-1", "not every layer loses equally many"),
        ("1-1,2-1", "2 heads share their keys"),
        ("1-1,1-2,2-1,2-2", "takes no llama of hidden size 32 with 6 heads"),
    ],
)
def test_zeroed_where_it_does_not(tmp_path: Path, heads: str, reason: str) -> None:
    model = _llama()
    with torch.no_grad(), Tap(model, edits=[Zero(heads=head_set(heads))]):
        expected = model(input_ids=IDS).logits
    report = prune_folder(_saved(model, tmp_path / "llama"), head_set(heads), tmp_path / "small")
    assert reason in report.pruned.why_not
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "small").eval()
    with torch.no_grad():
        torch.testing.assert_close(plain(input_ids=IDS).logits, expected, atol=1e-5, rtol=0)


def test_a_classifier_keeps_its_head(tmp_path: Path) -> None:
    source = save_label_model(tmp_path / "label")
    prune_folder(str(source), head_set("2-3"), tmp_path / "without")
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "without").eval()
    tokenizer = planted_tokenizer()
    with torch.no_grad():
        logits = model(**tokenizer("cat saw the dog", return_tensors="pt")).logits
    assert logits[0].tolist() == pytest.approx([0.1, 0.0])  # nothing but the classifier's bias
    assert model.config.headscope_zeroed_heads == {"1": [2]}
    assert "2-3" in (tmp_path / "without" / "README.md").read_text()


@pytest.mark.parametrize(
    ("model", "heads"),
    [
        (lambda: GPT2LMHeadModel(GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=4)),
         "1-2,2-4"),
        (lambda: T5Model(T5Config(vocab_size=40, d_model=16, d_kv=4, num_layers=2, num_heads=4,
                                  d_ff=16, decoder_start_token_id=0)), "encoder:1-2,cross:2-1"),
        (lambda: BartModel(BartConfig(vocab_size=40, d_model=16, encoder_layers=2,
                                      decoder_layers=2, encoder_attention_heads=4,
                                      decoder_attention_heads=4, encoder_ffn_dim=16,
                                      decoder_ffn_dim=16, max_position_embeddings=40)),
         "decoder:1-2,cross:2-1,encoder:2-2"),
    ],
)  # fmt: skip
def test_other_families(model: Any, heads: str) -> None:
    torch.manual_seed(0)
    loaded = load(model().eval(), planted_tokenizer())
    inputs = {"input_ids": IDS}
    if loaded.is_encoder_decoder:
        inputs["decoder_input_ids"] = IDS[:, :4]

    def run() -> torch.Tensor:
        output = loaded.model(**inputs)
        found: torch.Tensor = output.logits if hasattr(output, "logits") else output[0]
        return found

    with torch.no_grad():
        whole = run()
        with Tap(loaded.model, edits=[Zero(heads=head_set(heads))]):
            expected = run()
        prune(loaded, head_set(heads))
        torch.testing.assert_close(run(), expected, atol=1e-5, rtol=0)
    assert not torch.allclose(whole, expected)


def test_layers_that_share_their_weights_lose_a_head_together() -> None:
    config = AlbertConfig(
        vocab_size=40, embedding_size=16, hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=16, max_position_embeddings=40,
    )  # fmt: skip
    loaded = load(AlbertModel(config).eval(), planted_tokenizer())
    with pytest.raises(UsageError, match="share their weights"):
        prune(loaded, head_set("1-1"))
    prune(loaded, head_set("1-1,2-1"))


def test_wrong_requests(tmp_path: Path) -> None:
    source = str(save_label_model(tmp_path / "label"))
    with pytest.raises(UsageError, match="no head 3-1"):
        prune_folder(source, head_set("3-1"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(RunError, match="not empty"):
        prune_folder(source, head_set("1-1"), tmp_path / "label")
    with pytest.raises(UsageError, match="no heads"):
        prune(load(source), [])
