"""The tap leaves no trace, measures in float32, keeps gradients and no more than one layer."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from headscope.errors import UsageError
from headscope.models import Batch, Edit, Site, Tap, View, describe
from headscope.models.edits import Uniform, Zero
from headscope.types import HeadId
from tests.models.tiny import FAMILIES, batch_for, projection_inputs

_SOME = ["bert", "albert", "modernbert", "llama", "bart", "t5", "openai-gpt", "deberta-v2"]


# --- no trace -------------------------------------------------------------------------------


def _configs(model: nn.Module) -> dict[str, Any]:
    return {
        name: module.config
        for name, module in model.named_modules()
        if getattr(module, "config", None) is not None
    }


def _state(model: nn.Module) -> dict[str, Any]:
    """Everything a tap could leave behind, in a form that compares."""
    hooks = (
        "_forward_hooks",
        "_forward_pre_hooks",
        "_backward_hooks",
        "_backward_pre_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_pre_hooks_with_kwargs",
        "_forward_hooks_always_called",
    )
    return {
        "implementation": {k: c._attn_implementation for k, c in _configs(model).items()},
        "configs": {k: c.to_json_string() for k, c in _configs(model).items()},
        "hooks": {
            f"{name}.{hook}": len(getattr(module, hook))
            for name, module in model.named_modules()
            for hook in hooks
        },
        "training": {name: module.training for name, module in model.named_modules()},
        "attributes": {name: sorted(vars(module)) for name, module in model.named_modules()},
        "weights": {k: v.clone().numpy().tobytes() for k, v in model.state_dict().items()},
        "needs_grad": {k: (p.requires_grad, p.grad) for k, p in model.named_parameters()},
        "rng": torch.get_rng_state().numpy().tobytes(),
    }


def _outputs(model: nn.Module, batch: Batch) -> list[Tensor]:
    with torch.inference_mode():
        output = model(**batch.inputs)
    return [v for v in output.values() if isinstance(v, Tensor)]


class _StopError(Exception):
    pass


def _stop(*_: Any) -> None:
    raise _StopError


def _open_and_close(model: nn.Module, batch: Batch) -> None:
    with Tap(model):
        pass


def _observed(model: nn.Module, batch: Batch) -> None:
    with torch.inference_mode(), Tap(model, observer=lambda view: None) as tap:
        tap.forward(batch)


def _edited(model: nn.Module, batch: Batch) -> None:
    with torch.inference_mode(), Tap(model, edits=[Uniform()]) as tap:
        tap.forward(batch)


def _with_gradients(model: nn.Module, batch: Batch) -> None:
    with Tap(model, gradients=True) as tap:
        tap.forward(batch)


def _error_in_the_block(model: nn.Module, batch: Batch) -> None:
    with pytest.raises(_StopError), torch.inference_mode(), Tap(model) as tap:
        _stop(tap.forward(batch))


def _error_in_the_observer(model: nn.Module, batch: Batch) -> None:
    with pytest.raises(_StopError), torch.inference_mode(), Tap(model, observer=_stop) as tap:
        tap.forward(batch)


_WAYS = [
    _open_and_close,
    _observed,
    _edited,
    _with_gradients,
    _error_in_the_block,
    _error_in_the_observer,
]


@pytest.mark.parametrize("name", _SOME)
@pytest.mark.parametrize("way", _WAYS)
def test_the_model_is_left_as_it_was(name: str, way: Callable[[nn.Module, Batch], None]) -> None:
    model = FAMILIES[name].build()
    batch = batch_for(FAMILIES[name])
    outputs = _outputs(model, batch)
    before = _state(model)
    way(model, batch)
    after = _state(model)
    for part, value in before.items():
        assert after[part] == value, part
    for old, new in zip(outputs, _outputs(model, batch), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("name", _SOME)
def test_every_module_keeps_its_own_mode(name: str) -> None:
    model = FAMILIES[name].build().train()
    for module in list(model.modules())[::3]:
        module.training = False
    before = _state(model)
    _open_and_close(model, batch_for(FAMILIES[name]))
    assert _state(model) == before


def test_a_pass_that_fails_half_way_leaves_nothing_for_the_next() -> None:
    model = FAMILIES["openai-gpt"].build()
    batch = batch_for(FAMILIES["openai-gpt"])
    seen: list[int] = []

    def second_layer_fails(view: View) -> None:
        seen.append(view.layer)
        if len(seen) == 2:
            _stop()

    with torch.inference_mode(), Tap(model, observer=second_layer_fails) as tap:
        with pytest.raises(_StopError):
            tap.forward(batch)
        seen.clear()
        seen.append(-1)
        seen.append(-1)
        tap.forward(batch)
    assert seen == [-1, -1, 0, 1, 2]


def test_a_second_tap_is_refused_and_the_first_keeps_working() -> None:
    model = FAMILIES["bert"].build(model="BertForMaskedLM")
    batch = batch_for(FAMILIES["bert"])
    layers: list[int] = []
    inner = model.bert
    with torch.inference_mode(), Tap(model, observer=lambda v: layers.append(v.layer)) as tap:
        for part in (model, inner):
            with pytest.raises(UsageError, match="tapped already"), Tap(part):
                pass
        tap.forward(batch)
    assert layers == [0, 1, 2]
    before = _state(model)
    with Tap(inner), pytest.raises(UsageError, match="tapped already"), Tap(model):
        pass
    assert _state(model) == before


def test_models_that_share_a_config_object() -> None:
    """A second model built from the same config object works beside a tap, but has no own."""
    config = FAMILIES["bert"].config()
    first, second = tf.BertModel(config).eval(), tf.BertModel(config).eval()
    if first.config is not second.config:
        pytest.skip("this version of transformers copies configs")
    batch = batch_for(FAMILIES["bert"])
    expected = _outputs(second, batch)
    views: list[View] = []
    with torch.inference_mode(), Tap(first, observer=views.append) as tap:
        for a, b in zip(expected, _outputs(second, batch), strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=0)
        with pytest.raises(UsageError, match="same config object"), Tap(second):
            pass
        tap.forward(batch)
    assert len(views) == 3
    with Tap(second):
        pass


def test_two_models_can_be_tapped_side_by_side() -> None:
    batch = batch_for(FAMILIES["bert"])
    a, b = FAMILIES["bert"].build(), FAMILIES["bert"].build()
    seen: list[str] = []
    first = Tap(a, observer=lambda v: seen.append("a"))
    second = Tap(b, observer=lambda v: seen.append("b"))
    with torch.inference_mode():
        first.__enter__()
        second.__enter__()
        first.forward(batch)
        first.__exit__(None, None, None)
        second.forward(batch)
        second.__exit__(None, None, None)
    assert seen == ["a"] * 3 + ["b"] * 3


def test_a_closed_tap_says_so_and_can_be_opened_again() -> None:
    model, batch = FAMILIES["bert"].build(), batch_for(FAMILIES["bert"])
    layers: list[int] = []
    tap = Tap(model, observer=lambda v: layers.append(v.layer))
    with pytest.raises(UsageError, match="not open"):
        tap.forward(batch)
    for _ in range(2):
        with torch.inference_mode(), tap:
            tap.forward(batch)
        with pytest.raises(UsageError, match="not open"):
            tap.forward(batch)
    assert layers == [0, 1, 2, 0, 1, 2]


# --- order, stacks, layers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert", [("self", 0), ("self", 1), ("self", 2)]),
        ("albert", [("self", 0), ("self", 1), ("self", 2)]),
        ("mpnet", [("self", 0), ("self", 1), ("self", 2)]),
        (
            "marian",
            [("encoder", 0), ("encoder", 1)]
            + [(stack, layer) for layer in range(3) for stack in ("decoder", "cross")],
        ),
    ],
)
def test_observers_get_layers_in_order(name: str, expected: list[tuple[str, int]]) -> None:
    seen: list[tuple[str, int]] = []
    batch = batch_for(FAMILIES[name])
    model = FAMILIES[name].build()
    with (
        torch.inference_mode(),
        Tap(model, observer=lambda v: seen.append((v.stack, v.layer))) as tap,
    ):
        tap.forward(batch)
        tap.forward(batch)
    assert seen == expected * 2


def test_layers_are_told_by_module_when_the_encoder_runs_alone() -> None:
    """`generate` runs the encoder once and the decoder many times: stacks must not slip."""
    family = FAMILIES["bart"]
    model = family.build(model="BartForConditionalGeneration")
    batch = batch_for(family, lengths=(6, 6))
    edit = Zero(frozenset({HeadId(0, 0, "cross")}))
    inputs = {k: batch.inputs[k] for k in ("input_ids", "attention_mask")}
    tap = Tap(model, edits=[edit])
    with projection_inputs(model, family) as merged, torch.inference_mode(), tap:
        model.generate(**inputs, max_new_tokens=3, min_new_tokens=3, num_beams=1, do_sample=False)
    assert len(merged["encoder"]) == 2
    assert len(merged["cross"]) == 3 * 3
    d_head = 4
    for stack, calls in merged.items():
        n_layers = len(family.n_heads[stack])
        for i, heads in enumerate(calls):
            is_zero = not heads[..., :d_head].any()
            assert is_zero == (stack == "cross" and i % n_layers == 0), (stack, i)
            assert heads[..., d_head:].any()


def test_layers_are_told_by_module_when_some_are_dropped() -> None:
    family = FAMILIES["bart"]
    model = family.build()
    batch = batch_for(family)
    seen: list[tuple[str, int]] = []
    with Tap(model, observer=lambda v: seen.append((v.stack, v.layer))) as tap:
        model.train()
        model.encoder.layerdrop = 1.0
        tap.forward(batch)
    assert [place for place in seen if place[0] == "encoder"] == []
    assert [layer for stack, layer in seen if stack == "cross"] == [0, 1, 2]


@pytest.mark.parametrize("name", FAMILIES)
def test_watching_sees_the_same_and_stops_after_the_last_map(name: str) -> None:
    family = FAMILIES[name]
    model, batch = family.build(), batch_for(family)
    seen: list[View] = []
    with torch.inference_mode(), Tap(model, observer=seen.append) as tap:
        before = _state(model)
        whole = tap.forward(batch)
        expected, seen[:] = list(seen), []
        finished: list[nn.Module] = []
        hook = model.register_forward_hook(lambda *_: finished.append(model))
        tap.watch(batch)
        hook.remove()
        watched, seen[:] = list(seen), []
        again = tap.forward(batch)
        assert _state(model) == before
    assert finished == []  # what comes after the last map was not computed
    assert len(watched) == len(expected) == len(seen)
    for a, b in zip(expected, watched, strict=True):
        assert (a.stack, a.layer) == (b.stack, b.layer)
        assert torch.equal(a.pattern, b.pattern)
        assert torch.equal(a.z, b.z)
    assert torch.equal(whole[0], again[0])


@pytest.mark.parametrize("name", ["bert", "albert", "openai-gpt", "bart"])
def test_one_layer_at_a_time_is_kept(name: str) -> None:
    refs: list[weakref.ref[Tensor]] = []

    def observer(view: View) -> None:
        assert all(ref() is None for ref in refs), "an earlier layer's map is still alive"
        refs.extend((weakref.ref(view.pattern), weakref.ref(view.z)))

    model = FAMILIES[name].build()
    with torch.inference_mode(), Tap(model, observer=observer) as tap:
        tap.forward(batch_for(FAMILIES[name]))
        assert all(ref() is None for ref in refs)
        assert tap.views == []
    assert len(refs) == 2 * sum(map(len, FAMILIES[name].n_heads.values()))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("bert", "BertForMaskedLM"),
        ("bert", "BertForSequenceClassification"),
        ("bert", "BertForQuestionAnswering"),
        ("bert", "BertForTokenClassification"),
        ("gpt2", "GPT2LMHeadModel"),
        ("llama", "LlamaForCausalLM"),
        ("openai-gpt", "OpenAIGPTLMHeadModel"),
        ("bart", "BartForConditionalGeneration"),
        ("t5", "T5ForConditionalGeneration"),
    ],
)
def test_models_with_heads(name: str, model: str) -> None:
    family = FAMILIES[name]
    batch = batch_for(family)
    views: list[View] = []
    tapped, untouched = family.build(model=model), family.build("eager", model=model)
    with torch.inference_mode(), Tap(tapped, observer=views.append) as tap:
        output = tap.forward(batch)
    assert len(views) == sum(map(len, family.n_heads.values()))
    with torch.inference_mode():
        expected = untouched(**batch.inputs, output_attentions=True)
    names = {"self": "attentions", "encoder": "encoder_attentions"}
    names |= {"decoder": "decoder_attentions", "cross": "cross_attentions"}
    for view in views:
        weights = getattr(expected, names[view.stack])[view.layer].transpose(1, 2)
        rows = view.queries.real
        torch.testing.assert_close(
            view.pattern.transpose(1, 2)[rows], weights[rows], atol=1e-6, rtol=0
        )
    key = "start_logits" if "Question" in model else "logits"
    logits, expected_logits = output[key], expected[key]
    if logits.ndim == 3 or "Question" in model:
        real = (batch.target or batch.source).real
        logits, expected_logits = logits[real], expected_logits[real]
    torch.testing.assert_close(logits, expected_logits, atol=1e-5, rtol=0)


def test_encoder_half_of_a_pair() -> None:
    model = FAMILIES["t5"].build(model="T5EncoderModel")
    layout = describe(model)
    assert [(s.stack, s.n_heads, s.causal) for s in layout.stacks] == [("self", (4, 4), False)]


# --- half precision -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "modernbert", "t5"])
def test_half_precision_is_measured_in_float32(name: str, dtype: torch.dtype) -> None:
    family = FAMILIES[name]
    batch = batch_for(family)

    def run(model: nn.Module) -> tuple[list[View], Tensor]:
        views: list[View] = []
        with torch.inference_mode(), Tap(model, observer=views.append) as tap:
            return views, tap.forward(batch).last_hidden_state

    full, _ = run(family.build())
    half, hidden = run(family.build().to(dtype))
    assert hidden.dtype == dtype
    for a, b in zip(full, half, strict=True):
        rows = b.queries.real
        assert b.pattern.dtype == b.z.dtype == torch.float32
        sums = b.pattern.sum(-1).transpose(1, 2)[rows]
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-6, rtol=0)
        assert torch.equal(a.allowed & rows[:, None, :, None], b.allowed & rows[:, None, :, None])
        difference = (a.pattern - b.pattern).transpose(1, 2)[rows].abs()
        assert difference.mean() < (0.002 if dtype == torch.float16 else 0.02)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["openai-gpt", "mpnet", "deberta-v2"])
def test_adapted_families_in_half_precision(name: str, dtype: torch.dtype) -> None:
    """Their own code computes in half precision: rows sum to 1 within its rounding."""
    batch = batch_for(FAMILIES[name])
    views: list[View] = []
    model = FAMILIES[name].build().to(dtype)
    with torch.inference_mode(), Tap(model, observer=views.append, edits=[Uniform()]) as tap:
        assert tap.forward(batch).last_hidden_state.dtype == dtype
    for view in views:
        assert view.pattern.dtype == view.z.dtype == torch.float32
        sums = view.pattern.sum(-1).transpose(1, 2)[view.queries.real]
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=2e-2, rtol=0)


# --- gradients ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Nudge(Edit):
    """Adds a little to one weight."""

    name: ClassVar[str] = "nudge"
    place: tuple[str, int] = ("self", 0)
    index: tuple[int, int, int, int] = (0, 0, 0, 0)
    amount: float = 0.0

    def change(self, weights: Tensor, site: Site) -> Tensor:
        if (site.stack, site.layer) != self.place:
            return weights
        weights = weights.clone()
        weights[self.index] += self.amount
        return weights


def _loss(output: Any, batch: Batch) -> Tensor:
    """Any function of the hidden states at real tokens that is not symmetric in them."""
    real = (batch.target or batch.source).real
    hidden = output.last_hidden_state[real]
    ramp = torch.arange(hidden.numel(), dtype=hidden.dtype).view_as(hidden) / hidden.numel()
    return (hidden * ramp).sin().sum()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", ["bert", "albert", "llama", "bart", "openai-gpt", "deberta-v2"])
def test_gradients_are_finite_differences(name: str, frozen: bool) -> None:
    family = FAMILIES[name]
    model = family.build().double().requires_grad_(not frozen)
    batch = batch_for(family, lengths=(5, 3))
    with Tap(model, gradients=True) as tap:
        _loss(tap.forward(batch), batch).backward()
        views = list(tap.views)
    assert [v.layer for v in views if v.stack in ("self", "cross")] == [0, 1, 2]

    def loss_with(nudge: _Nudge) -> float:
        with torch.no_grad(), Tap(model, edits=[nudge]) as tap:
            return float(_loss(tap.forward(batch), batch))

    # Llama's norms and softmax compute in float32 whatever the model's type
    eps, rel, tolerance = (3e-3, 1e-3, 5e-4) if name == "llama" else (1e-4, 1e-4, 1e-5)
    generator = torch.Generator().manual_seed(0)
    for view in views:
        assert view.gradient.shape == view.pattern.shape
        rows = view.queries.real[:, None, :, None] & view.allowed
        assert view.gradient[rows.expand_as(view.gradient)].abs().max() > 1e-4
        choices = rows.expand_as(view.pattern).nonzero()
        for i in torch.randperm(len(choices), generator=generator)[:3].tolist():
            index: Any = tuple(choices[i].tolist())
            place = (view.stack, view.layer)
            up = loss_with(_Nudge(place=place, index=index, amount=eps))
            down = loss_with(_Nudge(place=place, index=index, amount=-eps))
            expected = (up - down) / (2 * eps)
            assert float(view.gradient[index]) == pytest.approx(expected, rel=rel, abs=tolerance)


@pytest.mark.parametrize("name", ["bert", "mpnet"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_edited_heads_and_half_precision(name: str, dtype: torch.dtype) -> None:
    family = FAMILIES[name]
    model = family.build().to(dtype)
    batch = batch_for(family)
    edits = [Uniform(), Zero(frozenset({HeadId(1, 2)}))]
    with Tap(model, gradients=True, edits=edits) as tap:
        _loss(tap.forward(batch), batch).backward()
    assert len(tap.views) == 3
    for view in tap.views:
        assert view.gradient.dtype == torch.float32
        assert view.gradient.isfinite().all()
        assert view.gradient.any()
    assert not tap.views[1].pattern[:, 2].any()


def test_parameters_get_the_same_gradients_as_without_a_tap() -> None:
    family = FAMILIES["bert"]
    batch = batch_for(family)
    tapped, untouched = family.build(), family.build("eager")
    with Tap(tapped, gradients=True) as tap:
        _loss(tap.forward(batch), batch).backward()
    _loss(untouched(**batch.inputs), batch).backward()
    for a, b in zip(tapped.parameters(), untouched.parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None and b.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4)


def test_masked_lm_loss_has_gradients() -> None:
    family = FAMILIES["bert"]
    model = family.build(model="BertForMaskedLM").requires_grad_(False)
    batch = batch_for(family)
    labels = batch.source.ids.masked_fill(~batch.source.real, -100)
    with Tap(model, gradients=True) as tap:
        tap.forward(batch, labels=labels).loss.backward()
    assert all(view.gradient.any() for view in tap.views)


def test_no_gradient_without_a_backward_pass() -> None:
    model, batch = FAMILIES["bert"].build(), batch_for(FAMILIES["bert"])
    with Tap(model, gradients=True) as tap:
        tap.forward(batch)
    with pytest.raises(RuntimeError, match="gradients=True"):
        _ = tap.views[0].gradient
