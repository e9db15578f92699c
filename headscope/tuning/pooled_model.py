"""A classifier on a layer or on chosen heads of a model, trained together with it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models import Batch, LoadedModel, Tap, Tokens, View, load
from headscope.models.loading import quiet
from headscope.models.seam import no_cache
from headscope.models.sentence_token import Pooling, default_pooling, pooled, reading_stack
from headscope.types import HeadId

_POOL, _HEAD = "pool.json", "pooler.safetensors"


@dataclass(frozen=True)
class Pool:
    """Where the classifier reads: one layer's hidden state, or the outputs of heads in order.

    >>> Pool(heads=(HeadId(2, 0), HeadId(3, 1))).told()
    {'layer': None, 'heads': ['3-1', '4-2'], 'token': None}
    """

    layer: int | None = None
    heads: tuple[HeadId, ...] = ()
    token: Pooling | None = None

    def told(self) -> dict[str, Any]:
        """As people read it, heads and layers from 1."""
        layer = None if self.layer is None else self.layer + 1
        return {"layer": layer, "heads": [str(h) for h in self.heads], "token": self.token}

    @classmethod
    def from_told(cls, told: dict[str, Any]) -> Pool:
        """The opposite of `told`."""
        layer = None if told["layer"] is None else int(told["layer"]) - 1
        return cls(layer, tuple(HeadId.parse(h) for h in told["heads"]), told["token"])


class Output(NamedTuple):
    """What tasks look for."""

    logits: Tensor


class PooledModel(nn.Module):
    """logits = classifier(tanh(linear(dropout(vector)))), the vector out of the model's inside.

    Source: Jo & Myaeng (2020), §5.2 and appendix A.4: dropout 0.1, a linear layer of the vector's
    width, tanh, then the logistic regression; heads are read before the output projection.
    Gradients reach the model through the vector, so layers above it learn nothing.
    """

    def __init__(self, body: LoadedModel, pool: Pool, n_outputs: int, dropout: float = 0.1) -> None:
        super().__init__()
        if not body.layout[reading_stack(body)].n_layers:
            raise ModelError(f"{body.name} has no layers to read")
        self.pool = replace(pool, token=pool.token or default_pooling(body))
        self.body = body.body
        self.config = body.config
        self._layout = body.layout
        self._stack = reading_stack(body)
        width = self._width(body)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, width)
        self.classifier = nn.Linear(width, n_outputs)

    @torch.no_grad()
    def _width(self, body: LoadedModel) -> int:
        """How wide the vector is, learnt from a text of one letter."""
        told = dict(body.tokenizer("a", return_tensors="pt"))
        return int(self._vector({k: v.to(body.device) for k, v in told.items()}).shape[-1])

    def forward(self, **inputs: Tensor) -> Output:
        """The logits of a batch; `attention_mask` says which tokens are real."""
        vector = self._vector(inputs)
        return Output(self.classifier(torch.tanh(self.linear(self.dropout(vector)))))

    def _vector(self, inputs: dict[str, Tensor]) -> Tensor:
        ids = inputs["input_ids"]
        mask = inputs.get("attention_mask")
        real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
        how = self.pool.token or "first"
        if self.pool.layer is not None:
            output = self.body(**inputs, **no_cache(self.body), output_hidden_states=True)
            states = getattr(output, "encoder_hidden_states", None) or output.hidden_states
            n_layers = self._layout[self._stack].n_layers
            return pooled(states[len(states) - n_layers + self.pool.layer].float(), real, how)
        found: dict[int, Tensor] = {}

        def observer(view: View) -> None:
            if view.stack == self._stack:
                found[view.layer] = pooled(view.z, real, how)

        nothing = torch.zeros_like(ids)
        batch = Batch((), Tokens(ids, real, nothing, nothing, nothing), None, inputs)
        with Tap(self.body, observer=observer, layout=self._layout) as tap:
            tap.forward(batch)
        return torch.cat([found[h.layer][:, h.head] for h in self.pool.heads], dim=-1)


def pooled_model(body: LoadedModel, pool: Pool, n_outputs: int, seed: int) -> LoadedModel:
    """A loaded model with a new classifier on the pool; the seed makes it the same."""
    for head in pool.heads:
        body.layout.check(head)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = PooledModel(body, pool, n_outputs).to(body.device)
    return replace(body, model=module.eval(), head="sequence-classification", recipe=None)


def save_pooled(model: LoadedModel, folder: Path) -> None:
    """The model as transformers writes it, and the pooler beside it."""
    module: Any = model.model
    with quiet(transformers):
        module.body.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
    own = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in module.state_dict().items()
        if not name.startswith("body.")
    }
    save_file(own, folder / _HEAD)
    told = {**module.pool.told(), "n_outputs": module.classifier.out_features}
    (folder / _POOL).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def load_pooled(folder: Path, **options: Any) -> LoadedModel:
    """A model that `save_pooled` wrote."""
    if not (folder / _POOL).is_file():
        raise ModelError(f"{folder} has no pooler; expected a folder of: headscope finetune --pool")
    told = json.loads((folder / _POOL).read_text(encoding="utf-8"))
    model = pooled_model(load(folder, **options), Pool.from_told(told), told["n_outputs"], 0)
    model.model.load_state_dict(load_file(folder / _HEAD), strict=False)
    return model
