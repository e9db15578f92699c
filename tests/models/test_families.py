"""Every family against the library's own eager attention and its own output projections."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor

from headscope.errors import ModelError
from headscope.models import TESTED_FAMILIES, Batch, Tap, Tokens, View, describe
from headscope.types import Stack
from tests.models.tiny import FAMILIES, Family, batch_for, projection_inputs, sharpen

_ATTENTIONS: dict[Stack, str] = {
    "self": "attentions",
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}


def _tapped(family: Family, batch: Batch) -> tuple[list[View], Tensor]:
    """Views and hidden states of a model with the implementation people get by default."""
    views: list[View] = []
    model = family.build()
    with torch.inference_mode(), Tap(model, observer=views.append) as tap:
        hidden = tap.forward(batch).last_hidden_state
    return views, hidden


def _untouched(family: Family, batch: Batch) -> tuple[Any, dict[Stack, list[Tensor]]]:
    model = family.build("eager")
    with torch.inference_mode(), projection_inputs(model, family) as merged:
        output = model(**batch.inputs, output_attentions=True)
    return output, merged


def _padding(family: Family) -> list[bool]:
    return [False, True] if family.causal else [False]


@pytest.mark.parametrize(
    ("name", "left"), [(name, left) for name, f in FAMILIES.items() for left in _padding(f)]
)
def test_weights_outputs_and_z_are_the_librarys_own(name: str, left: bool) -> None:
    family = FAMILIES[name]
    batch = batch_for(family, left=left)
    views, hidden = _tapped(family, batch)
    expected, merged = _untouched(family, batch)

    places = [(stack, layer) for stack, n in family.n_heads.items() for layer in range(len(n))]
    assert sorted((v.stack, v.layer) for v in views) == sorted(places)
    for view in views:
        rows, keys = view.queries.real, view.keys.real
        weights = getattr(expected, _ATTENTIONS[view.stack])[view.layer]
        pattern = view.pattern.transpose(1, 2)[rows]
        torch.testing.assert_close(pattern, weights.transpose(1, 2)[rows], atol=1e-6, rtol=0)
        torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:2]))
        assert pattern.std() > 0.05  # far from uniform: a mix-up of heads or rows would show
        padding = ~keys[:, None, None, :].expand_as(view.pattern).transpose(1, 2)[rows]
        assert not pattern[padding].any()

        z = view.z.transpose(1, 2).flatten(2)
        assert view.z.shape[1] == view.n_heads
        torch.testing.assert_close(z[rows], merged[view.stack][view.layer][rows], atol=1e-6, rtol=0)
        allowed = view.allowed[:, 0][rows]
        seen = view.pattern.any(dim=1)[rows]  # no head's weight is rounded to 0 in these models
        assert torch.equal(seen, allowed)
    last = batch.target or batch.source
    torch.testing.assert_close(
        hidden[last.real], expected.last_hidden_state[last.real], atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_describe_tells_stacks_layers_heads_and_causality(name: str) -> None:
    family = FAMILIES[name]
    layout = describe(family.build())
    assert {s.stack: s.n_heads for s in layout.stacks} == family.n_heads
    causal = {s.stack: s.causal for s in layout.stacks}
    expected = {"self": family.causal, "encoder": False, "decoder": True, "cross": False}
    assert causal == {stack: expected[stack] for stack in family.n_heads}
    assert [s.stack for s in layout.stacks] == list(family.n_heads)  # in the order of the pass


def test_all_families_we_name_are_tested_here() -> None:
    assert set(FAMILIES) == set(TESTED_FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_describe_does_not_depend_on_the_mode(name: str) -> None:
    """Dropout and dropped layers of a model in training change nothing, and the mode stays."""
    family = FAMILIES[name]
    model = family.build()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.9
        if hasattr(module, "layerdrop"):
            module.layerdrop = 0.9
    model.train()
    n_heads = {s.stack: s.n_heads for s in describe(model).stacks}
    assert n_heads == family.n_heads
    assert all(module.training for module in model.modules())


def test_allowed_of_local_and_global_layers() -> None:
    family = FAMILIES["modernbert"]
    batch = batch_for(family)
    views, _ = _tapped(family, batch)
    n = batch.source.ids.shape[1]
    position = torch.arange(n)
    near = (position[:, None] - position[None, :]).abs() <= family.options["local_attention"] // 2
    real = batch.source.real
    kinds = [("full_attention" in t) for t in family.config().layer_types]
    assert kinds == [True, False, True, False]
    for view in views:
        both = real[:, :, None] & real[:, None, :]
        expected = both if kinds[view.layer] else both & near
        assert torch.equal((view.allowed[:, 0] & real[:, :, None]), expected)


@pytest.mark.parametrize("name", ["gpt2", "openai-gpt", "llama"])
@pytest.mark.parametrize("left", [False, True])
def test_allowed_of_causal_families(name: str, left: bool) -> None:
    batch = batch_for(FAMILIES[name], left=left)
    views, _ = _tapped(FAMILIES[name], batch)
    real = batch.source.real
    both = (real[:, :, None] & real[:, None, :]).tril()
    for view in views:
        assert view.causal
        assert torch.equal(view.allowed[:, 0] & real[:, :, None], both)


def test_tokens_of_the_three_stacks() -> None:
    family = FAMILIES["bart"]
    batch = batch_for(family)
    assert batch.target is not None
    views, _ = _tapped(family, batch)
    sides: dict[Stack, tuple[Tokens, Tokens]] = {
        "encoder": (batch.source, batch.source),
        "decoder": (batch.target, batch.target),
        "cross": (batch.target, batch.source),
    }
    for view in views:
        assert (view.queries, view.keys) == sides[view.stack]


# --- refusals -------------------------------------------------------------------------------

_TINY = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def _xlnet() -> Any:
    return tf.XLNetModel(tf.XLNetConfig(vocab_size=20, d_model=8, n_layer=1, n_head=2, d_inner=8))


def _mamba() -> Any:
    config = tf.MambaConfig(
        vocab_size=20, hidden_size=8, state_size=2, num_hidden_layers=1, use_mambapy=False
    )
    return tf.MambaModel(config)


def _resnet() -> Any:
    config = tf.ResNetConfig(embedding_size=4, hidden_sizes=[4, 4], depths=[1, 1])
    return tf.ResNetModel(config)


def _vit() -> Any:
    config = tf.ViTConfig(image_size=8, patch_size=4, intermediate_size=8, **_TINY)
    return tf.ViTModel(config)


@pytest.mark.parametrize(
    ("build", "family", "reason"),
    [
        (_xlnet, "xlnet", "no attention of 'xlnet' can be tapped"),
        (_mamba, "mamba", "no attention of 'mamba' can be tapped"),
        (_resnet, "resnet", "'resnet' reads no text tokens"),
        (_vit, "vit", "'vit' reads no text tokens"),
    ],
    ids=["xlnet", "mamba", "resnet", "vit"],
)
def test_what_cannot_be_tapped_is_refused(build: Any, family: str, reason: str) -> None:
    model = sharpen(build())
    before = model.training
    with pytest.raises(ModelError) as caught:
        describe(model)
    message = str(caught.value)
    assert message.startswith(reason)
    assert all(name in message for name in TESTED_FAMILIES)
    assert model.training == before
    with pytest.raises(ModelError):
        Tap(model)


def test_a_module_that_is_no_transformers_model_is_refused() -> None:
    with pytest.raises(ModelError, match="expected a transformers model"):
        describe(torch.nn.Linear(2, 2))
