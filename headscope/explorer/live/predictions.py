"""What the model predicts for a text, in the words of its own head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headscope.figures.atlas.plain_text import plain_text
from headscope.models import LoadedModel
from headscope.types import Encoded

N_BEST = 5
_N_BLANKS = 8


def predicted(model: LoadedModel, encoded: Encoded, output: Any) -> dict[str, Any]:
    """`kind` is masked, next, class or none; `places` has the best answers for every blank.

    A masked model answers at its mask tokens, a causal one after the last token, a classifier once.
    """
    logits = getattr(output, "logits", None)
    if not isinstance(logits, Tensor) or model.head == "base":
        return {"kind": "none", "why": model.no_loss, "places": []}
    if model.head == "sequence-classification":
        return {"kind": "class", "places": [_classes(model, logits[0])]}
    if model.head == "causal-lm":
        return {"kind": "next", "places": [_tokens(model, logits[0, -1], encoded.n_tokens)]}
    mask = getattr(model.tokenizer, "mask_token_id", None)
    blanks = [i for i, id_ in enumerate(encoded.input_ids.tolist()) if id_ == mask]
    return {
        "kind": "masked",
        "mask": str(getattr(model.tokenizer, "mask_token", "") or ""),
        "places": [_tokens(model, logits[0, i], i) for i in blanks[:_N_BLANKS]],
    }


def _tokens(model: LoadedModel, logits: Tensor, place: int) -> dict[str, Any]:
    shares = torch.softmax(logits.float(), dim=-1)
    best = shares.topk(min(N_BEST, len(shares)))
    texts = [model.tokenizer.decode([i]) for i in best.indices.tolist()]
    return {
        "place": place,
        "best": [
            [plain_text(text, 60) or "⟨empty⟩", share]
            for text, share in zip(texts, best.values.tolist(), strict=True)
        ],
    }


def _classes(model: LoadedModel, logits: Tensor) -> dict[str, Any]:
    labels = getattr(model.config, "id2label", {}) or {}
    shares = torch.softmax(logits.float(), dim=-1).tolist()
    named = [[plain_text(str(labels.get(i, i)), 60), share] for i, share in enumerate(shares)]
    return {"place": 0, "best": sorted(named, key=lambda one: -one[1])[: 2 * N_BEST]}
