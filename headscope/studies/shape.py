"""How large a model is, read from its config without loading it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Shape:
    """Sizes that decide what a pass costs; the defaults are BERT-base's.

    Biases, positions and a pooler are not counted, 1 % of BERT-base's 109 million parameters.

    >>> Shape().n_heads, round(Shape().n_parameters / 1e6)
    (144, 108)
    """

    n_layers: int = 12
    heads_per_layer: int = 12
    hidden: int = 768
    vocabulary: int = 30522
    known: bool = False

    @property
    def n_heads(self) -> int:
        return self.n_layers * self.heads_per_layer

    @property
    def n_parameters(self) -> int:
        return self.vocabulary * self.hidden + self.n_layers * 12 * self.hidden**2

    def flops(self, n_tokens: float, length: float = 64.0) -> float:
        """Of one forward pass: two for every weight a token meets, and the attention itself."""
        return n_tokens * self.n_layers * (24 * self.hidden**2 + 4 * length * self.hidden)


def shape_of(folder: Path | None) -> Shape:
    """The shape a folder's config.json tells; usual names of its fields are understood."""
    if folder is None:
        return Shape()
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Shape()

    def first(default: int, *names: str) -> int:
        return next((v for n in names if isinstance(v := config.get(n), int)), default)

    return Shape(
        n_layers=first(12, "num_hidden_layers", "n_layer", "n_layers", "num_layers"),
        heads_per_layer=first(12, "num_attention_heads", "n_head", "n_heads", "num_heads"),
        hidden=first(768, "hidden_size", "n_embd", "dim", "d_model"),
        vocabulary=first(30522, "vocab_size"),
        known=True,
    )
