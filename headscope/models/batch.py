"""Several encoded sequences as padded tensors, ready for one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.types import Encoded, Facts, TokenKind

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Tokens:
    """One side of a batch, padded on the right: what each token is.

    `kinds`, `segments` and `words` are as in `Encoded`; on padding they are OTHER, -1 and -1, and
    `real` is False there.
    """

    ids: Int[Tensor, "batch token"]
    real: Bool[Tensor, "batch token"]
    kinds: Int[Tensor, "batch token"]
    segments: Int[Tensor, "batch token"]
    words: Int[Tensor, "batch token"]

    @property
    def n_real(self) -> Int[Tensor, " batch"]:
        return self.real.sum(dim=1)

    def is_kind(self, *kinds: TokenKind) -> Bool[Tensor, "batch token"]:
        """Real tokens of any of these kinds."""
        found = torch.zeros_like(self.real)
        for kind in kinds:
            found |= self.kinds == int(kind)
        return found & self.real


@dataclass(frozen=True, eq=False)
class Batch:
    """Encoded sequences, their tensors, the corpus's facts, and a memo for what layers share."""

    encoded: tuple[Encoded, ...]
    source: Tokens
    target: Tokens | None
    inputs: dict[str, Tensor]
    facts: Facts = field(default_factory=Facts)
    _memo: dict[str, Any] = field(default_factory=dict)

    def once(self, key: str, build: Callable[[], T]) -> T:
        """Compute something once for the batch and share it between its layers."""
        if key not in self._memo:
            self._memo[key] = build()
        value: T = self._memo[key]
        return value

    def __len__(self) -> int:
        return len(self.encoded)

    @property
    def n_tokens(self) -> int:
        return sum(e.n_tokens for e in self.encoded)


def _padded(rows: Sequence[NDArray[Any]], fill: int, device: torch.device) -> Tensor:
    width = max(len(row) for row in rows)
    table = np.full((len(rows), width), fill, dtype=np.int64)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return torch.from_numpy(table).to(device)


def _tokens(side: Sequence[Encoded], pad_id: int, device: torch.device) -> Tokens:
    ids = _padded([e.input_ids for e in side], pad_id, device)
    lengths = torch.tensor([e.n_tokens for e in side], device=device)
    return Tokens(
        ids=ids,
        real=torch.arange(ids.shape[1], device=device) < lengths[:, None],
        kinds=_padded([e.kinds for e in side], int(TokenKind.OTHER), device),
        segments=_padded([e.segments for e in side], -1, device),
        words=_padded([e.words for e in side], -1, device),
    )


def collate(
    encoded: Sequence[Encoded],
    *,
    pad_id: int = 0,
    device: torch.device | str = "cpu",
    facts: Facts | None = None,
) -> Batch:
    """Pad sequences on the right into one batch."""
    device = torch.device(device)
    source = _tokens(encoded, pad_id, device)
    inputs = {"input_ids": source.ids, "attention_mask": source.real.long()}
    for name in encoded[0].model_inputs:
        inputs[name] = _padded([e.model_inputs[name] for e in encoded], 0, device)
    targets = [e.target for e in encoded if e.target is not None]
    target = None
    if targets:
        target = _tokens(targets, pad_id, device)
        inputs["decoder_input_ids"] = target.ids
        inputs["decoder_attention_mask"] = target.real.long()
    return Batch(tuple(encoded), source, target, inputs, facts or Facts())
