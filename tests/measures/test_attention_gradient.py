"""Gradients against a finite difference and against autograd on a loop written by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from headscope.corpora import Corpus
from headscope.engine import Settings, analyze, choose_measures
from headscope.engine.plan import applicable
from headscope.engine.shard import run_shard
from headscope.errors import ModelError, UsageError
from headscope.measures import Place
from headscope.measures.attention_gradient import AttentionGradient
from headscope.models import LanguageLoss, LoadedModel, Tap, collate, load, sequence_losses
from headscope.models.edit import Edit, Site
from headscope.models.language_loss import NO_LABEL, masked
from headscope.types import Encoded, HeadId, TokenKind
from headscope.values import Moments
from tests.planted import VOCABULARY, encode_planted, planted_tokenizer

TEXTS = (
    "the old cat sat under the tree, and the dog saw it.",
    "she ran.",
    "he sees a big red bird, a small mouse.",
)


def bert() -> LoadedModel:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    return load(BertForMaskedLM(config), planted_tokenizer())


def llama() -> LoadedModel:
    torch.manual_seed(4)
    config = LlamaConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    return load(LlamaForCausalLM(config), planted_tokenizer())


def sentences() -> list[Encoded]:
    return [encode_planted(text, name=f"s{i}") for i, text in enumerate(TEXTS)]


def observed(model: LoadedModel, encoded: list[Encoded], batch_tokens: int) -> list[Moments]:
    values = run_shard(model, [AttentionGradient()], encoded, Settings(batch_tokens=batch_tokens))
    found = [values["gradient", Place("self", layer)] for layer in range(2)]
    assert all(isinstance(value, Moments) for value in found)
    return [value for value in found if isinstance(value, Moments)]


@dataclass(frozen=True)
class Nudge(Edit):
    """Add a little to one weight of one head."""

    query: int = 0
    key: int = 0
    by: float = 0.0

    def change(self, weights: torch.Tensor, site: Site) -> torch.Tensor:
        weights = weights.clone()
        weights[:, :, self.query, self.key] += self.by
        return weights


def loss_of(model: LoadedModel, one: Encoded, *edits: Edit) -> float:
    """The loss of one sequence in float64, from the library's own logits."""
    batch, labels = LanguageLoss().inputs(model, collate([one]))
    with torch.no_grad(), Tap(model.model, edits=edits) as tap:
        logits = tap.forward(batch).logits[0].double()
    lost = [
        -torch.log_softmax(logits[t], -1)[label].item()
        for t, label in enumerate(labels[0].tolist())
        if label != NO_LABEL
    ]
    return sum(lost) / len(lost)


@pytest.mark.parametrize("make", [bert, llama])
def test_a_finite_difference_agrees(make: object) -> None:
    model = make()  # type: ignore[operator]
    model = replace(model, model=model.model.double())
    one = sentences()[2]
    batch, labels = LanguageLoss().inputs(model, collate([one]))
    with Tap(model.model, gradients=True) as tap:
        sequence_losses(tap.forward(batch).logits, labels).sum().backward()
        gradients = [view.gradient[0] for view in tap.views]
    for layer, head, query, key in [(0, 0, 4, 1), (0, 2, 6, 6), (1, 1, 7, 3), (1, 2, 5, 0)]:
        step = 1e-3
        where = frozenset({HeadId(layer, head)})
        up, down = (loss_of(model, one, Nudge(where, query, key, s)) for s in (step, -step))
        slope = (up - down) / (2 * step)
        assert gradients[layer][head, query, key].item() == pytest.approx(slope, rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("make", [bert, llama])
def test_table_is_what_a_loop_over_sequences_gives(make: object) -> None:
    model = make()  # type: ignore[operator]
    encoded = sentences()
    samples: list[list[np.ndarray]] = [[], []]
    for one in encoded:
        batch, labels = LanguageLoss().inputs(model, collate([one]))
        with Tap(model.model, gradients=True) as tap:
            sequence_losses(tap.forward(batch).logits, labels).sum().backward()
        kinds = batch.source.kinds[0].tolist()
        for view in tap.views:
            gradient = view.gradient[0].abs().double().numpy()
            n_heads, n, _ = gradient.shape
            found = np.full((n_heads, 5), np.nan)
            wanted = [
                {0} if view.causal else set(),
                {k for k in range(n) if kinds[k] == TokenKind.CLS},
                {k for k in range(n) if kinds[k] == TokenKind.SEP},
                {k for k in range(n) if kinds[k] in (TokenKind.PERIOD, TokenKind.COMMA)},
                {k for k in range(n) if kinds[k] == TokenKind.OTHER},
            ]
            for head in range(n_heads):
                for target, keys in enumerate(wanted):
                    rows = []
                    for query in range(n):
                        seen = [k for k in keys if k <= query or not view.causal]
                        if seen:
                            rows.append(np.mean([gradient[head, query, k] for k in seen]))
                    if rows:
                        found[head, target] = np.mean(rows)
            samples[view.layer].append(found)
    for layer, moments in enumerate(observed(model, encoded, 4096)):
        stacked = np.stack(samples[layer])
        known = ~np.isnan(stacked)
        np.testing.assert_array_equal(moments.n, known.sum(axis=0))
        some = known.any(axis=0)
        expected = np.nansum(stacked, axis=0)[some] / known.sum(axis=0)[some]
        np.testing.assert_allclose(moments.mean[some], expected, rtol=2e-5)


@pytest.mark.parametrize("make", [bert, llama])
def test_batches_do_not_matter(make: object) -> None:
    model = make()  # type: ignore[operator]
    encoded = sentences()
    alone, together = observed(model, encoded, 1), observed(model, encoded[::-1], 4096)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.n, b.n)
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-4)
        np.testing.assert_allclose(a.variance, b.variance, rtol=1e-3)


def test_masking_takes_its_share_and_spares_delimiters() -> None:
    one = encode_planted(" ".join(["the cat sat on the mat"] * 5), name="long")
    vocabulary = np.arange(5, len(VOCABULARY))
    rates = np.zeros(3)
    for seed in range(400):
        chosen, read = masked(one, LanguageLoss(0.15, seed), mask_id=4, vocabulary=vocabulary)
        assert len(chosen) == round(0.15 * 30) == len(set(chosen.tolist()))
        assert (one.segments[chosen] >= 0).all()
        own = one.input_ids[chosen]
        rates += [(read == 4).sum(), ((read != 4) & (read != own)).sum(), (read == own).sum()]
    # 10 % are drawn from 35 tokens, so one in 35 of those is the token itself
    np.testing.assert_allclose(rates / rates.sum(), [0.8, 0.1 * 34 / 35, 0.1 + 0.1 / 35], atol=0.03)
    again = masked(one, LanguageLoss(0.15, 1), mask_id=4, vocabulary=vocabulary)
    assert [a.tolist() for a in again] == [
        a.tolist() for a in masked(one, LanguageLoss(0.15, 1), mask_id=4, vocabulary=vocabulary)
    ]


def test_a_masked_comma_is_no_comma() -> None:
    model, one = bert(), sentences()[0]
    for seed in range(30):
        batch, labels = LanguageLoss(0.5, seed).inputs(model, collate([one]))
        for t in (labels[0] != NO_LABEL).nonzero()[:, 0].tolist():
            same = batch.source.ids[0, t] == one.input_ids[t]
            kind = one.kinds[t] if same else TokenKind.OTHER
            assert batch.source.kinds[0, t] == kind
        assert torch.equal(batch.inputs["input_ids"], batch.source.ids)
        keep = labels[0] == NO_LABEL
        assert torch.equal(batch.source.ids[0][keep], torch.from_numpy(one.input_ids)[keep])


def test_weights_stay_as_they_were_and_get_no_gradient() -> None:
    model = bert()
    before = {name: p.detach().clone() for name, p in model.model.named_parameters()}
    observed(model, sentences(), 64)
    for name, parameter in model.model.named_parameters():
        assert parameter.requires_grad
        assert parameter.grad is None
        assert torch.equal(parameter, before[name])


def test_a_sequence_with_nothing_to_predict_is_no_data() -> None:
    model = llama()
    short = encode_planted("the")
    short = replace(
        short,
        **{
            name: getattr(short, name)[1:2]
            for name in ("input_ids", "kinds", "segments", "words", "offsets")
        },
        model_inputs={},
    )
    assert short.n_tokens == 1
    assert not run_shard(model, [AttentionGradient()], [short], Settings())


def save(folder: Path, model: LoadedModel) -> Path:
    model.model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


def test_a_checkpoint_with_its_head_is_measured(tmp_path: Path) -> None:
    folder = save(tmp_path / "mlm", bert())
    model = load(folder, head="lm")
    assert model.head == "masked-lm"
    assert not model.no_loss
    assert type(model.body) is BertModel
    run = analyze(
        model, Corpus.of(list(TEXTS)), tmp_path / "run", measures=choose_measures(["all"])
    )
    table = run.table("gradient").to_pandas()
    assert set(table["target"]) == {"cls", "sep", "punct", "other"}
    assert (table["mean_abs"] > 0).all()
    assert table["n"].max() == 3
    assert "gradient" not in {s.name for s in run.record.skipped}


def test_a_checkpoint_without_a_head_is_skipped_or_refused(tmp_path: Path) -> None:
    torch.manual_seed(0)
    plain = load(BertModel(bert().config), planted_tokenizer())
    folder = save(tmp_path / "base", plain)
    model = load(folder, head="lm")
    assert model.head == "base"
    corpus = Corpus.of(list(TEXTS))
    with pytest.raises(UsageError, match=r"gradient.*BertModel, without a language-model head"):
        analyze(model, corpus, tmp_path / "a", measures=choose_measures(["gradient"]))
    assert not (tmp_path / "a").exists()
    for names in (None, ["all"]):
        _, skipped = applicable(choose_measures(names), {}, model)
        reasons = {s.name: s.reason for s in skipped}
        assert "without a language-model head" in reasons["gradient"]
    # a name that promises a head whose weights are not there
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"BertModel"', '"BertForMaskedLM"'))
    model = load(folder, head="lm")
    assert model.head == "base"
    assert "no weights for cls.predictions" in model.no_loss
    with pytest.raises(ModelError, match=r"no weights for cls\.predictions"):
        load(folder, head="masked-lm")


def test_not_part_of_the_default_bundle() -> None:
    names = {m.name for m in choose_measures()}
    assert "gradient" not in names
    assert "gradient" in {m.name for m in choose_measures(["all"])}
    _, skipped = applicable(choose_measures(), {}, llama())
    assert "--measures gradient" in {s.name: s.reason for s in skipped}["gradient"]
    _, skipped = applicable(choose_measures(["surface"]), {}, llama())
    assert not skipped
