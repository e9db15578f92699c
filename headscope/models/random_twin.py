"""The same model with nothing learnt but its embeddings."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import nn

from headscope.errors import ModelError
from headscope.models.describe import describe
from headscope.models.loaded_model import LoadedModel


def random_twin(model: LoadedModel, seed: int = 0, *, keep_embeddings: bool = True) -> LoadedModel:
    """A model of the same shape with the embeddings kept and all other weights drawn anew.

    The weights are drawn as the family draws them before training. Kept are the tables of token,
    position and segment embeddings; tables of relative position biases belong to the attention
    and are drawn anew. Source: Clark et al. 2019, §5, third baseline; Conneau et al. 2018.
    Without `keep_embeddings` they are drawn anew as well, as in Kovaleva et al. 2019, §4.3.
    """
    original = model.body
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            # a config of its own: models that share one cannot be tapped at the same time
            twin: nn.Module = type(original)(copy.deepcopy(original.config))
        except Exception as error:
            raise ModelError(f"cannot build a random twin of {model.name}: {error}") from error
    tables = dict(twin.named_modules())
    with torch.no_grad():
        for name, module in original.named_modules():
            is_table = isinstance(module, nn.Embedding) and not name.endswith("attention_bias")
            if keep_embeddings and is_table:
                tables[name].weight.copy_(module.weight)
    twin = twin.to(model.device).eval()
    return replace(
        model,
        model=twin,
        name=f"{model.name} (random)",
        layout=describe(twin),
        head="base",
        recipe=None,
    )
