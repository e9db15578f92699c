"""Edits change exactly the weights they name, and the model goes on with what they left."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.errors import UsageError
from headscope.models import EDITS, Batch, Edit, Tap, View, collate, describe, head_set
from headscope.models.edits import InterOnly, IntraOnly, Mean, Uniform, Zero
from headscope.types import HeadId, Stack
from tests.models.tiny import FAMILIES, batch_for, encoded, projection_inputs

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Case:
    """A family, the stack to edit, and the module whose output holds the values of a layer."""

    family: str
    stack: Stack
    values: str
    window: int | None = None

    def batch(self) -> Batch:
        family = FAMILIES[self.family]
        if family.is_pair:
            return batch_for(family)
        texts = [
            encoded(9, 0, split=5, types=self.family == "bert"),
            encoded(6, 1, split=3, types=self.family == "bert"),
            encoded(7, 2, split=5, types=self.family == "bert"),
        ]
        return collate(texts, pad_id=int(family.options.get("pad_token_id", 0)))

    def value_heads(self, output: Tensor) -> Tensor:
        """[batch, key, …] as the value projection gives it → [batch, head, key, d_head]."""
        batch, n_key = output.shape[:2]
        if self.family == "modernbert":
            output = output.view(batch, n_key, 3, -1)[:, :, 2]
        if self.family == "openai-gpt":
            output = output.chunk(3, dim=-1)[2]
        heads = output.reshape(batch, n_key, -1, 4).transpose(1, 2)
        # grouped queries: heads 0 and 1 share the first values, 2 and 3 the second
        return torch.stack([heads[:, h * heads.shape[1] // 4] for h in range(4)], dim=1)

    def may_see(self, query: int, key: int, n_key: int) -> bool:
        if FAMILIES[self.family].causal and key > query:
            return False
        return key < n_key and (self.window is None or abs(query - key) <= self.window)


_LAYER = 1  # local in the modernbert below
_CASES = {
    "bert": _Case("bert", "self", "encoder.layer.1.attention.self.value"),
    "grouped": _Case("llama", "self", "layers.1.self_attn.v_proj"),
    "local": _Case("modernbert", "self", "layers.1.attn.Wqkv", window=2),
    "cross": _Case("bart", "cross", "decoder.layers.1.encoder_attn.v_proj"),
    "openai-gpt": _Case("openai-gpt", "self", "h.1.attn.c_attn"),
    "deberta-v2": _Case("deberta-v2", "self", "encoder.layer.1.attention.self.value_proj"),
    "mpnet": _Case("mpnet", "self", "encoder.layer.1.attention.attn.v"),
}


def _views(model: nn.Module, batch: Batch, edits: Sequence[Edit] = ()) -> dict[Any, View]:
    views: list[View] = []
    with torch.inference_mode(), Tap(model, observer=views.append, edits=edits) as tap:
        tap.forward(batch)
    return {(v.stack, v.layer): v for v in views}


def _naive(edit: Edit, weights: Array, case: _Case, n_key: int, n_query: int, seg: Any) -> Array:
    """The edit of one head of one sequence, in loops, from its description."""
    new = np.zeros_like(weights)
    rows, columns = weights.shape
    allowed = [[case.may_see(q, k, n_key) for k in range(columns)] for q in range(rows)]
    for q in range(n_query):
        keys = [k for k in range(columns) if allowed[q][k]]
        match edit:
            case Zero():
                continue
            case Uniform():
                for k in keys:
                    new[q, k] = 1 / len(keys)
            case Mean():
                column = {}
                for k in keys:
                    seen_by = [r for r in range(n_query) if allowed[r][k]]
                    column[k] = sum(weights[r, k] for r in seen_by) / len(seen_by)
                for k in keys:
                    new[q, k] = column[k] / sum(column.values()) * weights[q].sum()
            case IntraOnly() | InterOnly():
                for k in keys:
                    inside = seg[q] >= 0 and seg[k] >= 0
                    same = seg[q] == seg[k]
                    removed = inside and (same if isinstance(edit, InterOnly) else not same)
                    new[q, k] = 0 if removed else weights[q, k]
                if edit.renormalise and new[q].sum() > 0:
                    new[q] /= new[q].sum()
    return new


def _chain(edits: Sequence[Edit], view: View, case: _Case, head: int, i: int) -> Array:
    weights = view.pattern[i, head].double().numpy()
    n_key, n_query = int(view.keys.n_real[i]), int(view.queries.n_real[i])
    segments = view.keys.segments[i].tolist()
    for edit in edits:
        if edit.heads is None or HeadId(_LAYER, head, case.stack) in edit.heads:
            weights = _naive(edit, weights, case, n_key, n_query, segments)
    return weights


def _check(case: _Case, edits: Sequence[Edit]) -> None:
    """Weights and z of the edited layer against loops; everything else as it was."""
    family = FAMILIES[case.family]
    model, batch = family.build(), case.batch()
    before = _views(model, batch)
    caught: list[Tensor] = []
    hook = model.get_submodule(case.values).register_forward_hook(
        lambda _, __, output: caught.append(output)
    )
    with projection_inputs(model, family) as merged:
        after = _views(model, batch, edits)
    hook.remove()
    old, new = before[case.stack, _LAYER], after[case.stack, _LAYER]
    values = case.value_heads(caught[-1])
    changed = {h for h in range(4) for e in edits if e.heads is None or _has(e, case, h)}
    assert changed
    for i in range(len(batch)):
        n = int(new.queries.n_real[i])
        for head in range(4):
            weights = new.pattern[i, head, :n]
            if head not in changed:
                assert torch.equal(weights, old.pattern[i, head, :n])
                assert torch.equal(new.z[i, head, :n], old.z[i, head, :n])
                continue
            expected = _chain(edits, old, case, head, i)[:n]
            np.testing.assert_allclose(weights.numpy(), expected, atol=1e-6, rtol=0)
            z = expected @ values[i, head].double().numpy()
            np.testing.assert_allclose(new.z[i, head, :n].numpy(), z, atol=1e-5, rtol=0)
    # the model's own output projection got these heads
    rows = new.queries.real
    got = merged[case.stack][_LAYER][rows]
    assert torch.equal(got, new.z.transpose(1, 2).flatten(2)[rows])
    # layers before saw nothing of it
    if all(e.heads is not None for e in edits):
        for place in [p for p in before if p[1] < _LAYER]:
            real = before[place].queries.real
            a, b = (v[place].pattern.transpose(1, 2)[real] for v in (before, after))
            assert torch.equal(a, b)


def _has(edit: Edit, case: _Case, head: int) -> bool:
    return edit.heads is not None and HeadId(_LAYER, head, case.stack) in edit.heads


def _heads(case: _Case, *heads: int) -> frozenset[HeadId]:
    return frozenset(HeadId(_LAYER, head, case.stack) for head in heads)


_PLAIN: list[type[Edit]] = [Zero, Uniform, Mean]
_SEGMENT: list[type[Edit]] = [IntraOnly, InterOnly]


@pytest.mark.parametrize("name", _CASES)
@pytest.mark.parametrize("kind", _PLAIN)
@pytest.mark.parametrize("heads", [(2,), (0, 3), (0, 1, 2, 3)])
def test_chosen_heads_change_and_no_others(
    name: str, kind: type[Edit], heads: tuple[int, ...]
) -> None:
    case = _CASES[name]
    _check(case, [kind(_heads(case, *heads))])


@pytest.mark.parametrize("name", [name for name in _CASES if name != "cross"])
@pytest.mark.parametrize("kind", _SEGMENT)
@pytest.mark.parametrize("renormalise", [False, True])
def test_segment_edits(name: str, kind: Any, renormalise: bool) -> None:
    case = _CASES[name]
    _check(case, [kind(_heads(case, 1, 2), renormalise=renormalise)])


@pytest.mark.parametrize("name", _CASES)
def test_every_head_of_the_model(name: str) -> None:
    """heads=None: all heads of all layers of all stacks."""
    case = _CASES[name]
    model, batch = FAMILIES[case.family].build(), case.batch()
    for view in _views(model, batch, [Uniform()]).values():
        n_keys = view.allowed.sum(-1, keepdim=True).clamp(min=1)
        expected = (view.allowed / n_keys).expand_as(view.pattern)
        rows = view.queries.real
        assert torch.equal(view.pattern.transpose(1, 2)[rows], expected.transpose(1, 2)[rows])
    for view in _views(model, batch, [Zero()]).values():
        assert not view.pattern.any()
        assert not view.z.any()


def test_uniform_by_hand() -> None:
    """1/n over real keys; 1/(position+1) in a causal model; 1/window in a local layer."""
    bert = _views(FAMILIES["bert"].build(), _CASES["bert"].batch(), [Uniform()])["self", 1]
    assert bert.pattern[1, 0, 2].tolist() == pytest.approx([1 / 6] * 6 + [0] * 3)
    llama = _views(FAMILIES["llama"].build(), _CASES["grouped"].batch(), [Uniform()])["self", 1]
    assert llama.pattern[0, 3, 2].tolist() == pytest.approx([1 / 3] * 3 + [0] * 6)
    views = _views(FAMILIES["modernbert"].build(), _CASES["local"].batch(), [Uniform()])
    local, everywhere = views["self", 1], views["self", 2]
    assert local.pattern[0, 0, 4].tolist() == pytest.approx([0, 0] + [1 / 5] * 5 + [0, 0])
    assert local.pattern[1, 0, 5].tolist() == pytest.approx([0] * 3 + [1 / 3] * 3 + [0] * 3)
    assert everywhere.pattern[1, 0, 5].tolist() == pytest.approx([1 / 6] * 6 + [0] * 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["bert", "grouped", "local"])
def test_uniform_in_half_precision(name: str, dtype: torch.dtype) -> None:
    case = _CASES[name]
    full = _views(FAMILIES[case.family].build(), case.batch(), [Uniform()])
    half = _views(FAMILIES[case.family].build().to(dtype), case.batch(), [Uniform()])
    for place, view in full.items():
        rows = view.queries.real
        a, b = (v.pattern.transpose(1, 2)[rows] for v in (view, half[place]))
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", ["bert", "grouped", "local", "openai-gpt"])
def test_edits_compose_in_order(name: str) -> None:
    case = _CASES[name]
    both, one = _heads(case, 0, 1), _heads(case, 1, 2)
    _check(case, [Uniform(both), IntraOnly(one)])
    _check(case, [IntraOnly(one), Uniform(both)])
    _check(case, [Mean(both), InterOnly(one, renormalise=True), Uniform(_heads(case, 3))])


def test_the_order_of_edits_matters() -> None:
    case = _CASES["bert"]
    model, batch = FAMILIES["bert"].build(), case.batch()
    heads = _heads(case, 1)
    edits: list[Edit] = [Uniform(heads), IntraOnly(heads)]
    place = ("self", _LAYER)
    intra_last = _views(model, batch, edits)[place].pattern[0, 1, 1]
    intra_first = _views(model, batch, edits[::-1])[place].pattern[0, 1, 1]
    # [CLS] a a a [SEP] b b b [SEP]: an "a" keeps 3 of "a" and the delimiters
    ninth = pytest.approx([1 / 9] * 5 + [0] * 3 + [1 / 9])
    assert intra_last.tolist() == ninth
    assert intra_first.tolist() == pytest.approx([1 / 9] * 9)
    zero_last = _views(model, batch, [Uniform(heads), Zero(heads)])[place].pattern[0, 1]
    assert not zero_last.any()
    uniform_last = _views(model, batch, [Zero(heads), Uniform(heads)])[place].pattern[0, 1, 1]
    assert uniform_last.tolist() == pytest.approx([1 / 9] * 9)


def test_later_layers_and_outputs_follow() -> None:
    """Switching off all heads of a BERT layer is the same as a zero input to its projection."""
    model, batch = FAMILIES["bert"].build(), _CASES["bert"].batch()
    layer = frozenset(HeadId(0, head) for head in range(4))
    with torch.inference_mode():
        plain = model(**batch.inputs).last_hidden_state
        with Tap(model, edits=[Zero(layer)]) as tap:
            edited = tap.forward(batch).last_hidden_state
        projection = model.encoder.layer[0].attention.output.dense
        hook = projection.register_forward_pre_hook(lambda _, args: (torch.zeros_like(args[0]),))
        by_hand = model(**batch.inputs).last_hidden_state
        hook.remove()
    real = batch.source.real
    torch.testing.assert_close(edited[real], by_hand[real], atol=1e-5, rtol=0)
    assert (edited - plain)[real].abs().max() > 0.01


def test_edits_of_several_layers_and_shared_modules() -> None:
    """ALBERT's layers share one module; a head of one of them is still one head."""
    for name in ("bert", "albert"):
        model, batch = FAMILIES[name].build(), batch_for(FAMILIES[name])
        heads = head_set("1-1, 2-4, 2-3")
        for (_, layer), view in _views(model, batch, [Zero(heads)]).items():
            off = {h for h in range(4) if not view.pattern[:, h].any()}
            assert off == {h.head for h in heads if h.layer == layer}


@pytest.mark.parametrize("name", ["bert", "llama", "openai-gpt", "mpnet"])
@pytest.mark.parametrize("positional", [False, True])
def test_the_model_itself_may_be_called(name: str, positional: bool) -> None:
    """Uniform and mean edits need no batch: the mask tells them the real tokens."""
    model, batch = FAMILIES[name].build(), batch_for(FAMILIES[name])
    ids, mask, real = batch.source.ids, batch.inputs["attention_mask"], batch.source.real
    if positional:
        assert list(inspect.signature(model.forward).parameters)[:2] == list(batch.inputs)
    for kind in (Uniform, Mean):
        with torch.inference_mode(), Tap(model, edits=[kind()]) as tap:
            expected = tap.forward(batch).last_hidden_state
            if positional:
                got = model(ids, mask).last_hidden_state
            else:
                got = model(input_ids=ids, attention_mask=mask).last_hidden_state
        torch.testing.assert_close(got[real], expected[real], atol=1e-6, rtol=0)


# --- what makes no sense --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (HeadId(3, 0), "no head 4-1: the model has 3 layers"),
        (HeadId(0, 4), "no head 1-5: layer 1 has 4 heads"),
        (HeadId(-1, 0), "the model has 3 layers"),
        (HeadId(0, 0, "cross"), "this model has no stack 'cross'; it has: self"),
    ],
)
@pytest.mark.parametrize("kind", [Zero, Uniform, Mean, IntraOnly, InterOnly])
def test_a_head_the_model_does_not_have(head: HeadId, message: str, kind: Any) -> None:
    with pytest.raises(UsageError, match=message):
        Tap(FAMILIES["bert"].build(), edits=[kind(frozenset({head}))])


@pytest.mark.parametrize("kind", _SEGMENT)
def test_segment_edits_need_a_batch(kind: type[Edit]) -> None:
    model, batch = FAMILIES["bert"].build(), _CASES["bert"].batch()
    with Tap(model, edits=[kind()]), pytest.raises(UsageError, match=r"tap\.forward\(batch\)"):
        model(**batch.inputs)


@pytest.mark.parametrize("kind", _SEGMENT)
def test_segment_edits_are_not_defined_for_cross_attention(kind: type[Edit]) -> None:
    model = FAMILIES["bart"].build()
    for heads in (None, head_set("encoder:1-1 cross:1-1")):
        with pytest.raises(UsageError, match="not defined for cross-attention"):
            Tap(model, edits=[kind(heads)])
    Tap(model, edits=[kind(frozenset(describe(model).heads("encoder")))])


# --- labels and registry --------------------------------------------------------------------


def test_head_sets() -> None:
    assert head_set("3-1,4-2") == {HeadId(2, 0), HeadId(3, 1)}
    assert head_set(" 3-1 ,\t4-2\n3-1 ") == {HeadId(2, 0), HeadId(3, 1)}
    assert head_set("cross:1-2, encoder:2-1") == {HeadId(0, 1, "cross"), HeadId(1, 0, "encoder")}
    assert head_set(["3-1", HeadId(0, 0)]) == {HeadId(2, 0), HeadId(0, 0)}
    assert head_set([]) == frozenset()
    for head in describe(FAMILIES["bart"].build()).heads():
        assert head_set(str(head)) == {head}


@pytest.mark.parametrize("label", ["", "3", "3-", "-1", "0-1", "1-0", "a-b", "up:1-1", "1-1;2-2"])
def test_labels_that_are_no_heads(label: str) -> None:
    with pytest.raises(UsageError, match="is no head; expected layer-head from 1"):
        head_set(label)


def test_the_built_in_edits() -> None:
    assert set(EDITS) == {"zero", "uniform", "mean", "intra", "inter"}
    with pytest.raises(UsageError, match="did you mean 'uniform'"):
        _ = EDITS["unifrom"]


@pytest.mark.parametrize("name", list(EDITS))
def test_contract_of_edits(name: str) -> None:
    kind = EDITS[name]
    assert issubclass(kind, Edit)
    assert kind.name == name
    assert dataclasses.is_dataclass(kind)
    assert "heads" in {field.name for field in dataclasses.fields(kind)}
    assert kind.__doc__ is not None
    assert not kind.__doc__.startswith(f"{kind.__name__}(")  # a dataclass's own signature
    heads = head_set("1-1,2-3")
    edit = kind(heads)
    assert kind().heads is None
    assert edit == kind(heads)
    assert hash(edit) == hash(kind(heads))
    assert edit != kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        edit.heads = None  # type: ignore[misc]


@pytest.mark.parametrize("name", list(EDITS))
def test_edits_never_write_into_the_weights_they_get(name: str) -> None:
    class _Guard(Tap):
        def edit(self, weights: Tensor, site: Any) -> Tensor:
            before = weights.clone()
            result = super().edit(weights, site)
            assert torch.equal(weights, before)
            assert result.shape == weights.shape
            return result

    model, batch = FAMILIES["bert"].build(), _CASES["bert"].batch()
    with torch.inference_mode(), _Guard(model, edits=[EDITS[name](head_set("2-2"))]) as tap:
        tap.forward(batch)
    with torch.inference_mode(), _Guard(model, edits=[EDITS[name]()]) as tap:
        tap.forward(batch)


@pytest.mark.parametrize("name", list(EDITS))
def test_edits_give_padding_keys_nothing_and_keep_gradients(name: str) -> None:
    model, batch = FAMILIES["bert"].build(), _CASES["bert"].batch()
    with Tap(model, edits=[EDITS[name]()], gradients=True) as tap:
        tap.forward(batch).last_hidden_state.sin().sum().backward()
    for view in tap.views:
        padding = ~view.keys.real[:, None, None, :].expand_as(view.pattern)
        assert not view.pattern[padding].any()
        assert view.gradient.any()
