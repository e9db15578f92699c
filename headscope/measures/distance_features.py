"""How far heads look: attention by distance, special tokens set aside."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.kernels.by_label import LabelRuns, summed_by_label
from headscope.measures.later import Later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.per_sequence import mean_weights
from headscope.models import StackLayout, Tokens, View
from headscope.stats import mean_interval
from headscope.types import Result, TokenKind
from headscope.values import Bundle, Moments, Sum

N_WINDOWS = 16
#: Keys that are counted by what they are, wherever they stand.
SPECIAL = {
    "cls": TokenKind.CLS,
    "sep": TokenKind.SEP,
    "comma": TokenKind.COMMA,
    "period": TokenKind.PERIOD,
}
FEATURES = (*SPECIAL, "self", *(f"w{i:02}" for i in range(N_WINDOWS)))
_SELF = FEATURES.index("self")
_NO_FEATURE = len(FEATURES)


def feature_of_pair(tokens: Tokens) -> Int[Tensor, "batch query key"]:
    """Which of the 21 features a query's weight on a key counts for; 21 where either is padding.

    Window i holds the distances d with i·n/16 < d ≤ (i+1)·n/16; so i = ⌈16·d/n⌉ − 1, which is
    (16·d − 1) // n for whole numbers.
    """
    positions = torch.arange(tokens.real.shape[1], device=tokens.real.device)
    distance = (positions[:, None] - positions[None, :]).abs()
    window = (N_WINDOWS * distance[None] - 1) // tokens.n_real[:, None, None]
    found = torch.where(distance == 0, _SELF, _SELF + 1 + window)
    for feature, kind in enumerate(SPECIAL.values()):
        found = torch.where(tokens.is_kind(kind)[:, None, :], feature, found)
    outside = ~(tokens.real[:, :, None] & tokens.real[:, None, :])
    return found.masked_fill(outside, _NO_FEATURE)


def feature_weights(tokens: Tokens) -> Float[Tensor, "batch query_key feature"]:
    """1/n where a pair counts for a feature, else 0: the mean over rows as one product."""
    pairs = feature_of_pair(tokens)
    rows = mean_weights(tokens.real)
    weights = torch.zeros(*pairs.shape, len(FEATURES) + 1, device=pairs.device)
    weights.scatter_(-1, pairs[..., None], rows[:, :, None, None].expand(*pairs.shape, 1))
    return weights[..., : len(FEATURES)].flatten(1, 2)


def distance_features(
    pattern: Float[Tensor, "batch head query key"],
    weights: Float[Tensor, "batch query_key feature"],
) -> Float[Tensor, "batch head feature"]:
    """Σ_q Σ_k pattern[q, k] · weights[q, k, feature]."""
    return pattern.flatten(2) @ weights


def _features(view: View) -> Float[Tensor, "batch head feature"]:
    """`distance_features`; on the processor every weight is read once and added to its feature."""
    tokens = view.queries
    if view.pattern.device.type != "cpu":
        weights = view.once("distance/weights", lambda: feature_weights(tokens))
        return distance_features(view.pattern, weights)
    runs = view.once("distance/runs", lambda: _runs(tokens))
    found = summed_by_label(view.pattern.numpy(), runs, len(FEATURES) + 1, torch.get_num_threads())
    mean = found[..., : len(FEATURES)] / tokens.n_real.numpy()[:, None, None]
    return torch.from_numpy(mean.astype(np.float32))


def _runs(tokens: Tokens) -> LabelRuns:
    return LabelRuns.of(feature_of_pair(tokens).to(torch.uint8).numpy())


def part_of(sequence: str, n_parts: int) -> int:
    """The random part of the corpus a sequence belongs to, by its id alone.

    >>> part_of("s1", 64) == part_of("s1", 64), {part_of(f"s{i}", 2) for i in range(9)}
    (True, {0, 1})
    """
    digest = hashlib.blake2b(sequence.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_parts


def summed_by_part(
    found: NDArray[np.float64], parts: NDArray[np.int64], n_parts: int
) -> NDArray[np.float64]:
    """Σ over the sequences of every part, [part, …].

    No matrix product: numpy's would leave threads behind that wait on the forward pass's cores.

    >>> summed_by_part(np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), 3).tolist()
    [2.0, 0.0, 5.0]
    """
    total = np.zeros((n_parts, *found.shape[1:]))
    order = np.argsort(parts, kind="stable")
    present, starts = np.unique(parts[order], return_index=True)
    total[present] = np.add.reduceat(found[order], starts, axis=0)
    return total


def _summed(
    parts: NDArray[np.int64], n_parts: int, having: Sequence[float], found: NDArray[np.float64]
) -> Bundle:
    return Bundle(
        {
            "all": Moments.of(found),
            "parts": Sum(summed_by_part(found, parts, n_parts)),
            "sizes": Sum(np.bincount(parts, minlength=n_parts).astype(np.float64)),
            "having": Sum(having),
        }
    )


@MEASURES.register("distance")
class DistanceFeatures(LayerMeasure):
    """How far a head looks: 21 exclusive shares of its attention that add up to 1.

    A weight counts for its key's kind if that is `cls`, `sep`, `comma` or `period`; else for `self`
    if the key is the query; else for the window of its distance d to either side, in a sequence of
    n tokens:

        w_i:  i · n/16 < d ≤ (i + 1) · n/16,   i = 0 … 15

    Each feature is the mean over a sequence's rows, then over sequences. High `w00` and `w01` make
    a diagonal, high special features vertical stripes, far windows a dense map. Windows are shares
    of the length: in a sequence of fewer than 16 tokens the nearest ones are empty and a neighbour
    is far, and an even head has more weight in near windows, as there are more such pairs. So
    compare heads and models on one corpus, not corpora. A kind of token that no sequence of the
    corpus has (GPT's `cls`) has no row; the others still add up to 1.

    The corpus is also kept as `n_parts` random parts by a hash of each sequence's id: the arrays
    `distance_parts` (sums over a part's sequences; heads in the order of the table) and
    `distance_part_sizes` let clustering redo its fit on random halves without the model.

    Source: Guan et al. 2020, §3, eq. 2. Our w_i is their F(i), n their L; they leave open which
    window a border belongs to and where the token itself counts. For `cross` stacks a distance has
    no meaning, and the measure leaves them out.

    >>> tokens = Tokens(*(torch.tensor([row]) for row in (
    ...     [5, 6, 7, 8], [True] * 4, [1, 0, 0, 2], [-1, 0, 0, -1], [-1, 0, 1, -1])))
    >>> [FEATURES[f] for f in feature_of_pair(tokens)[0, 0].tolist()]
    ['cls', 'w03', 'w07', 'sep']
    """

    name: ClassVar[str] = "distance"
    tables: ClassVar[tuple[str, ...]] = ("distance",)

    n_parts: int = Field(64, ge=2, le=1024, description="random parts kept for stability")

    def applies_to(self, stack: StackLayout) -> bool:
        return stack.stack != "cross"

    def look(self, view: View) -> Later[Bundle]:
        tokens = view.queries
        parts = view.once(
            f"distance/parts/{self.n_parts}",
            lambda: np.array([part_of(e.sequence.id, self.n_parts) for e in view.batch.encoded]),
        )
        having = view.once(
            "distance/having",
            lambda: torch.stack(
                [tokens.is_kind(k).any(dim=1).sum() for k in SPECIAL.values()]
            ).tolist(),
        )
        return Later((_features(view),), partial(_summed, parts, self.n_parts, having))

    def finish(self, total: Total) -> Result:
        names = ("stack", "layer", "head", "feature", "mean", "ci_low", "ci_high", "n")
        columns: dict[str, list[NDArray[np.generic]]] = {name: [] for name in names}
        parts: list[NDArray[np.float64]] = []
        sizes = np.zeros(self.n_parts)
        for place, value in total.of(Bundle):
            moments: Moments = value.part("all", Moments)
            kept = np.ones(len(FEATURES), bool)
            kept[: len(SPECIAL)] = value.part("having", Sum).total > 0
            heads, features = np.nonzero(np.broadcast_to(kept, moments.shape))
            low, high = mean_interval(moments.mean, moments.std, moments.n)
            rows = (
                np.full(heads.shape, place.stack),
                np.full(heads.shape, place.layer),
                heads,
                np.array(FEATURES)[features],
                *(x[heads, features] for x in (moments.mean, low, high, moments.n)),
            )
            for name, row in zip(names, rows, strict=True):
                columns[name].append(row)
            parts.append(value.part("parts", Sum).total)
            sizes = value.part("sizes", Sum).total
        table: dict[str, Any] = {
            name: np.concatenate(rows) if rows else [] for name, rows in columns.items()
        }
        if not parts:
            return Result({"distance": table})
        arrays = {
            "distance_parts": np.concatenate(parts, axis=1),
            "distance_part_sizes": sizes,
        }
        return Result({"distance": table}, arrays)
