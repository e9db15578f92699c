"""How differently heads attend: the distance between every pair of them, and their map."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.head_geometry import layer_distances, map_of_heads
from headscope.measures.measure import MEASURES, StackMeasure, Total
from headscope.models import StackLayout, View
from headscope.types import Result
from headscope.values import Bundle, Sum

#: Weights that are compared at once: bounds the memory beyond the kept rows.
_CHUNK = 1 << 24


class RowSample(NamedTuple):
    """Which rows of every sequence are compared; `taken` is False where there are fewer."""

    rows: Int[Tensor, "batch row"]
    taken: Bool[Tensor, "batch row"]


class KeptRows(NamedTuple):
    """The sampled rows of one layer's heads, 0 where a sequence has fewer, and all lengths."""

    weights: Float[Tensor, "batch head row key"]
    sample: RowSample
    n_real: Int[Tensor, " batch"]


def affordable_rows(n_layers: int, d_head: int) -> int:
    """Rows per sequence whose comparison costs about a twentieth of the forward pass.

    A row of n keys costs (L·H)²/2 · n terms; a sequence's forward pass n · 24 · L · (H·d_head)²
    operations: the number of heads and of keys cancels, and d_head²/(40 · L) rows keep the
    comparison below a tenth of the pass on the machines it was measured on.

    >>> affordable_rows(12, 64), affordable_rows(6, 32)
    (8, 4)
    """
    return max(1, d_head**2 // (40 * n_layers))


def sample_rows(ids: Sequence[str], n_real: NDArray[np.int64], n_rows: int) -> RowSample:
    """`n_rows` rows of each sequence, evenly spaced from a start that its id decides.

    A systematic sample: row ⌊(u + i) · n / n_rows⌋ for i = 0, 1 …, with u in [0, 1) from a hash of
    the id. Every row has the same chance, positions are covered evenly, and neither batches nor
    shards matter. A sequence with no more rows than that gives them all.

    >>> sample_rows(["a", "b"], np.array([4, 9]), 4).rows.tolist()
    [[0, 1, 2, 3], [1, 3, 5, 7]]
    """
    starts = np.array([_unit_hash(i) for i in ids])
    step = np.arange(n_rows)
    rows = np.floor((starts[:, None] + step) * (n_real[:, None] / n_rows)).astype(np.int64)
    few = n_real[:, None] <= n_rows
    rows = np.minimum(np.where(few, step, rows), n_real[:, None] - 1)
    taken = ~few | (step < n_real[:, None])
    return RowSample(torch.from_numpy(rows), torch.from_numpy(taken))


def _unit_hash(text: str) -> float:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@MEASURES.register("divergence")
class HeadDivergence(StackMeasure):
    """How far apart two heads' attention is: the mean Jensen–Shannon divergence of their rows.

        JS(p, q) = ½ · Σ_k p[k] · ln(p[k]/m[k]) + ½ · Σ_k q[k] · ln(q[k]/m[k]),   m = (p + q)/2
        js_nats(A, B) = mean over the corpus's tokens of JS(pattern_A[token], pattern_B[token])

    0 is two heads that always attend alike, ln 2 = 0.69 nats two that never share a key. Near
    heads spread their weight alike; that does not say that they read the same content or that one
    of them can be spared. Every pair stands once in `divergence`, the earlier head first.

    By default `rows` of each sequence are sampled (see `sample_rows`, `affordable_rows`) and
    weighted by its length, an unbiased estimate of the mean over all rows; `rows="all"` takes every
    row. `se_nats` is the standard error over sequences of that ratio estimate: it covers the
    sampling of rows and the choice of texts.

    `head_map` puts the heads on a plane so that distances are kept as well as they can be (metric
    multidimensional scaling). `layer_divergence` compares the mean divergence between heads of one
    layer with that to heads of all other layers; its p-value is the share of random regroupings of
    the heads in which a group of that size is at least as close together.

    Source: Clark et al. 2019, §6, Figure 6. They sum over tokens, we report the mean per row, which
    does not change the map; their released code smooths rows as 0.999 · a + 0.001/n, we do not.

    >>> from headscope.measures.kernels.jensen_shannon import pairwise_js
    >>> rows = np.array([[[[0.5, 0.5]], [[1.0, 0.0]]]], np.float32)      # one row of two heads
    >>> round(float(pairwise_js(rows)[0, 0]), 4)      # ½ · ½ ln(½/¾) + ½ · ½ ln(½/¼) + ½ · ln(1/¾)
    0.2158
    """

    name: ClassVar[str] = "divergence"
    tables: ClassVar[tuple[str, ...]] = ("divergence", "head_map", "layer_divergence")

    rows: int | Literal["auto", "all"] = Field(
        "auto", description="rows compared per sequence: a number, auto, or all"
    )
    seed: int = Field(0, ge=0, description="seed of the map and of the regroupings")

    def model_post_init(self, context: Any, /) -> None:
        if isinstance(self.rows, int) and self.rows < 1:
            raise ValueError("rows must be at least 1")

    def keep(self, view: View, stack: StackLayout) -> KeptRows:
        """The sampled rows of every head: a few, instead of the whole map."""
        n_rows = self._n_rows(view, len(stack.seen))
        sample = view.once(f"divergence/{n_rows}", lambda: _sample(view, n_rows))
        index, taken = sample.rows[:, None, :, None], sample.taken[:, None, :, None]
        wide = index.expand(-1, view.n_heads, -1, view.pattern.shape[-1])
        return KeptRows(view.pattern.gather(2, wide) * taken, sample, view.queries.n_real)

    def observe(self, kept: Sequence[KeptRows]) -> Bundle:
        means, taken = _mean_js(kept), kept[0].sample.taken
        weight = kept[0].n_real.cpu().numpy().astype(np.float64)
        weighted = weight[:, None] * means
        return Bundle(
            {
                "mean": Sum(weighted.sum(axis=0)),
                "square": Sum((weighted**2).sum(axis=0)),
                "cross": Sum((weight[:, None] * weighted).sum(axis=0)),
                "weight": Sum([weight.sum(), (weight**2).sum(), len(weight), taken.sum().item()]),
            }
        )

    def _n_rows(self, view: View, n_layers: int) -> int:
        longest = view.once("divergence/longest", lambda: int(view.queries.n_real.max()))
        if self.rows == "all":
            return longest
        if self.rows == "auto":
            return min(longest, affordable_rows(n_layers, view.z.shape[-1]))
        return min(longest, self.rows)

    def finish(self, total: Total) -> Result:
        pairs: list[dict[str, Any]] = []
        points: list[dict[str, Any]] = []
        layers: list[dict[str, Any]] = []
        for place, value in total.of(Bundle):
            heads = total.layout.heads(place.stack)
            mean, error = _estimate(value)
            first, second = np.triu_indices(len(heads), 1)
            pairs += [
                {
                    "stack": place.stack,
                    "layer_a": heads[a].layer,
                    "head_a": heads[a].head,
                    "layer_b": heads[b].layer,
                    "head_b": heads[b].head,
                    "js_nats": mean[i],
                    "se_nats": error[i],
                }
                for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
            ]
            distance = np.zeros((len(heads), len(heads)))
            distance[first, second] = distance[second, first] = mean
            plane = map_of_heads(distance, self.seed)
            points += [
                {"stack": place.stack, "layer": h.layer, "head": h.head, "x": x, "y": y}
                for h, (x, y) in zip(heads, plane.tolist(), strict=True)
            ]
            layer_of = np.array([h.layer for h in heads])
            layers += [
                {"stack": place.stack, **row}
                for row in layer_distances(distance, layer_of, self.seed)
            ]
        return Result(
            {
                "divergence": _columns(pairs),
                "head_map": _columns(points),
                "layer_divergence": _columns(layers),
            }
        )


def _sample(view: View, n_rows: int) -> RowSample:
    ids = [one.sequence.id for one in view.batch.encoded]
    rows, taken = sample_rows(ids, view.queries.n_real.cpu().numpy(), n_rows)
    return RowSample(rows.to(view.pattern.device), taken.to(view.pattern.device))


def _mean_js(kept: Sequence[KeptRows]) -> NDArray[np.float64]:
    """[sequence, pair]: the mean over each sequence's sampled rows."""
    # numba takes a second to import: not before someone measures divergence
    from headscope.measures.kernels.jensen_shannon import pairwise_js

    n_batch = len(kept[0].weights)
    size = max(1, _CHUNK // sum(one.weights[0].numel() for one in kept))
    sums = []
    for start in range(0, n_batch, size):
        weights = torch.cat([one.weights[start : start + size] for one in kept], dim=1)
        sums.append(pairwise_js(weights.cpu().numpy(), torch.get_num_threads()))
    n_taken: NDArray[np.float64] = (
        kept[0].sample.taken.sum(dim=1, keepdim=True).double().cpu().numpy()
    )
    return np.concatenate(sums) / n_taken


def _estimate(value: Bundle) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weighted mean of every pair and its standard error over sequences.

        mean = Σ w m / Σ w,      se² = S/(S − 1) · Σ w² (m − mean)² / (Σ w)²

    (a ratio estimate, linearised: Cochran 1977, Sampling Techniques, §2.11; NaN for S = 1).
    """
    sums = {name: value.part(name, Sum).total for name in value}
    weight, square_weight, n_sequences, _ = sums["weight"]
    mean = sums["mean"] / weight
    spread = sums["square"] - 2 * mean * sums["cross"] + mean**2 * square_weight
    if n_sequences < 2:
        return mean, np.full_like(mean, np.nan)
    small = n_sequences / (n_sequences - 1)
    return mean, np.sqrt(small * np.maximum(spread, 0.0)) / weight


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
