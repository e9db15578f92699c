"""Pruning from a folder to a folder: written, loaded again, compared, timed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from headscope.ablations.prune import Pruned, prune
from headscope.engine.progress import Progress, Silent
from headscope.errors import HeadscopeError, RunError
from headscope.models import LoadedModel, Tap, collate, load
from headscope.models.batch import Batch
from headscope.models.edits import Zero
from headscope.models.loaded_model import Head
from headscope.models.loading import quiet
from headscope.store.durable import explained
from headscope.types import Encoded, HeadId, Sequence

#: How far a pruned model may be from the `zero` edit, as a share of its largest output (above 1).
TOLERANCE = 1e-5
_ENDINGS: Mapping[str, Head] = {
    "ForSequenceClassification": "sequence-classification",
    "ForQuestionAnswering": "question-answering",
    "ForMaskedLM": "masked-lm",
    "ForCausalLM": "causal-lm",
    "LMHeadModel": "causal-lm",
}


@dataclass(frozen=True)
class Report:
    """What pruning did, in numbers."""

    path: Path
    pruned: Pruned
    largest_difference: float
    bytes_before: int
    bytes_after: int
    seconds_before: float
    seconds_after: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "path": str(self.path),
            "heads": [str(head) for head in sorted(self.pruned.heads)],
            "smaller_projections": self.pruned.shrunk,
            "why_not": self.pruned.why_not,
            "parameters_before": self.pruned.n_parameters_before,
            "parameters_after": self.pruned.n_parameters,
            "parameters_zeroed": self.pruned.n_zeroed,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "forward_seconds_before": self.seconds_before,
            "forward_seconds_after": self.seconds_after,
            "largest_difference_from_zero_edit": self.largest_difference,
        }


def head_of(name: str, **options: Any) -> Head:
    """The head a checkpoint was saved with, as its config tells."""
    model = load(name, head="lm", **options)
    for architecture in getattr(model.config, "architectures", None) or ():
        for ending, head in _ENDINGS.items():
            if str(architecture).endswith(ending):
                return head
    return model.head


def prune_folder(
    name: str,
    heads: frozenset[HeadId],
    output: Path,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Write a model without these heads to `output`, and make sure that it is what it should be."""
    progress = progress or Silent()
    folder = output.expanduser()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} exists and is not empty; choose another -o")
    progress.stage(f"Loading {name}")
    head = head_of(name, **options)
    model = load(name, head=head, new_head=False, **options)
    batch = _some_batch(model)
    for one in heads:
        model.layout.check(one)
    with torch.inference_mode():
        with Tap(model.model, edits=[Zero(heads=heads)], layout=model.layout) as tap:
            expected = _tensors(tap.forward(batch))
        before = _seconds(model, batch)
    size = _weight_bytes(model)
    progress.stage("Removing heads")
    pruned = prune(model, heads)
    with explained("write", folder), quiet(transformers):
        folder.mkdir(parents=True, exist_ok=True)
        saved: Any = model.model
        saved.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
    progress.stage("Loading it again")
    again = load(folder, head=head, new_head=False)
    with torch.inference_mode():
        found = _tensors(again.model(**batch.inputs))
        after = _seconds(again, batch)
    difference = max(
        float((a - b).abs().max() / a.abs().max().clamp(min=1.0))
        for a, b in zip(expected, found, strict=True)
    )
    if not difference <= TOLERANCE:
        raise HeadscopeError(
            f"{folder}: the written model differs from the zero edit by {difference:.2g}, more "
            f"than {TOLERANCE:g}; do not use it"
        )
    report = Report(folder, pruned, difference, size, _weight_bytes(again), before, after)
    (folder / "README.md").write_text(_card(name, report), encoding="utf-8")
    text = json.dumps(report.to_dict(), indent=2)
    (folder / "prune.json").write_text(text + "\n", encoding="utf-8")
    return report


def _weight_bytes(model: LoadedModel) -> int:
    return sum(p.numel() * p.element_size() for p in model.model.parameters())


def _tensors(output: Any) -> list[torch.Tensor]:
    names = ("logits", "start_logits", "end_logits", "last_hidden_state")
    found = [getattr(output, name, None) for name in names]
    return [tensor for tensor in found if tensor is not None]


def _some_batch(model: LoadedModel, n_texts: int = 8, n_tokens: int = 64) -> Batch:
    """Random ordinary tokens, seeded: enough to compare and to time."""
    random = np.random.default_rng(0)
    special = set(getattr(model.tokenizer, "all_special_ids", ()))
    ids = np.array([i for i in range(int(model.config.vocab_size)) if i not in special])
    length = min(n_tokens, model.max_tokens)

    def side(n: int, first: int | None = None) -> Encoded:
        chosen = random.choice(ids, n).astype(np.int64)
        eos = getattr(model.config, "eos_token_id", None)
        if isinstance(eos, int) and eos < int(model.config.vocab_size):
            chosen[-1] = eos
        if first is not None:
            chosen[0] = first
        return Encoded(
            Sequence("some", "some"),
            chosen,
            np.zeros(n, np.int8),
            np.zeros(n, np.int8),
            np.full(n, -1, np.int32),
            np.zeros((n, 2), np.int32),
            target=side(max(2, n // 2), model.decoder_start_id)
            if model.is_encoder_decoder and first is None
            else None,
        )

    return collate([side(length) for _ in range(n_texts)], pad_id=model.pad_id)


def _seconds(model: LoadedModel, batch: Batch, rounds: int = 7) -> float:
    """The best of a few forward passes."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        model.model(**batch.inputs)
        taken.append(time.perf_counter() - start)
    return min(taken)


def _card(name: str, report: Report) -> str:
    pruned = report.pruned
    heads = ", ".join(str(head) for head in sorted(pruned.heads))
    if pruned.shrunk:
        done = "They are really gone: the projections are smaller."
    else:
        done = (
            f"Their columns of the output projections are 0: {pruned.why_not}. "
            "The model computes the same as with those heads removed, but is no smaller."
        )
    return f"""---
library_name: transformers
base_model: {name}
tags:
- headscope
---

# {report.path.name}

{name} without the attention heads {heads} (layer-head, counted from 1). {done}

| | before | after |
|---|---|---|
| parameters | {pruned.n_parameters_before:,} | {pruned.n_parameters:,} |
| of them set to 0 | 0 | {pruned.n_zeroed:,} |
| bytes of weights | {report.bytes_before:,} | {report.bytes_after:,} |
"""
