"""What is made larger, by doubling, with all else fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import BertConfig, BertModel

from bench.naive.stored import Stored, stored
from bench.subject import RELATIONS, annotated, sequences
from headscope.measures import LayerMeasure, Measure, StackMeasure, build
from headscope.measures.roles import ROLES
from headscope.models import LoadedModel, collate, describe
from headscope.types import Facts

FACTS = Facts(n_sequences=2000, word_counts={"w": 5, "v": 1})
#: Measures of a head's maps; divergence, which compares heads, has lines of its own.
MEASURES = ("surface", "entropy", "distance", "sieve", "parser", "features", "cls_row")


@dataclass(frozen=True)
class Shape:
    """A small BERT and its input; heads keep their width, so the model grows with them."""

    n_tokens: int = 64
    n_layers: int = 2
    n_heads: int = 4
    n_sequences: int = 8
    n_roles: int = len(ROLES)
    n_relations: int = len(RELATIONS)
    d_head: int = 16

    def model(self) -> LoadedModel:
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=30000,
            hidden_size=self.n_heads * self.d_head,
            num_hidden_layers=self.n_layers,
            num_attention_heads=self.n_heads,
            intermediate_size=4 * self.n_heads * self.d_head,
            max_position_embeddings=2048,
            attn_implementation="eager",
        )
        model = BertModel(config, add_pooling_layer=False).eval()
        return LoadedModel(model, None, "grown", "", describe(model))


@dataclass(frozen=True)
class Axis:
    """One thing that grows, its sizes, and what is timed along it."""

    name: str
    sizes: tuple[int, ...]
    shape: Callable[[int], Shape]
    series: tuple[str, ...]


_USUAL = ("forward pass", "all measures but divergence", "divergence, sampled rows")

AXES = (
    Axis("tokens", (64, 128, 256, 512, 1024), lambda n: Shape(n_tokens=n, n_sequences=2), _USUAL),
    Axis("layers", (2, 4, 8, 16), lambda n: Shape(n_layers=n), _USUAL),
    Axis("heads", (4, 8, 16, 32), lambda n: Shape(n_heads=n), (*_USUAL, "divergence, all rows")),
    Axis("sequences", (8, 16, 32, 64), lambda n: Shape(n_sequences=n), _USUAL),
    Axis("roles", (1, 2, 4, 8, len(ROLES)), lambda n: Shape(n_roles=n), ("sieve",)),
    Axis("relations", (2, 8, 32, 128), lambda n: Shape(n_relations=n), ("parser",)),
)


def _relations(n: int) -> Sequence[str]:
    return [*RELATIONS, *(f"relation{i}" for i in range(n))][:n]


def timed(axis: Axis, size: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """What to run, ready made, for every series of an axis at one size."""
    shape = axis.shape(size)
    model = shape.model()
    texts = sequences(shape.n_sequences, shape.n_tokens)
    encoded = [annotated(one, _relations(shape.n_relations)) for one in texts]
    maps = stored(model, encoded, FACTS)
    batch = collate(encoded)

    def forward() -> None:
        with torch.inference_mode():
            model.model(**batch.inputs)

    roles = ",".join(list(ROLES)[: shape.n_roles])
    sieve = build("sieve", {"roles": roles})
    chosen: dict[str, list[Measure]] = {
        "all measures but divergence": [sieve if m == "sieve" else build(m) for m in MEASURES],
        "divergence, sampled rows": [build("divergence")],
        "divergence, all rows": [build("divergence", {"rows": "all"})],
        "sieve": [sieve],
        "parser": [build("parser")],
    }
    for name in axis.series:
        yield name, forward if name == "forward pass" else _observing(maps, chosen[name])


def _observing(maps: Stored, measures: Sequence[Measure]) -> Callable[[], object]:
    def observe() -> None:
        with torch.inference_mode():
            for measure in measures:
                if isinstance(measure, StackMeasure):
                    maps.observed_together(measure)
                elif isinstance(measure, LayerMeasure):
                    maps.observed(measure)

    return observe
