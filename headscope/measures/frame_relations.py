"""Heads that link frame-evoking words with their core elements."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.frame_links import Filters, drawn_places, frame_links
from headscope.measures.later import Later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.models import StackLayout, View
from headscope.models.devices import exact
from headscope.stats import benjamini_hochberg, mean_interval
from headscope.types import Result
from headscope.values import Bundle, Moments, Sum

#: Sums of this many draws are gathered at a time, so that memory does not grow with draws.
_DRAWS_AT_ONCE = 128


class FramePairs(NamedTuple):
    """The frames of a batch, flat: places of links, each with its token pairs.

    `observed[frame, slot]` and `drawn[draw, frame, slot]` index places; a frame with fewer links
    than slots repeats its first one, which no maximum feels.
    """

    place: Int[Tensor, " pair"]
    sequence: Int[Tensor, " pair"]
    first: Int[Tensor, " pair"]
    second: Int[Tensor, " pair"]
    n_places: int
    observed: Int[Tensor, "frame slot"]
    drawn: Int[Tensor, "draw frame slot"]
    n_movable: int


def place_weights(
    pattern: Float[Tensor, "batch head query key"], pairs: FramePairs
) -> Float[Tensor, "place head"]:
    """Per place the greatest weight of its token pairs, either direction."""
    there = pattern[pairs.sequence, :, pairs.first, pairs.second]
    back = pattern[pairs.sequence, :, pairs.second, pairs.first]
    weights = torch.maximum(there, back)
    empty = torch.zeros(pairs.n_places, pattern.shape[1], device=pattern.device)
    where = pairs.place[:, None].expand_as(weights)
    return empty.scatter_reduce(0, where, weights, "amax", include_self=False)


def drawn_sums(
    weights: Float[Tensor, "place head"], drawn: Int[Tensor, "draw frame slot"]
) -> Float[Tensor, "draw head"]:
    """Σ over frames of the greatest weight of a frame's moved links, for every draw."""
    sums = [
        weights[drawn[start : start + _DRAWS_AT_ONCE]].amax(dim=2).sum(dim=1, dtype=exact(weights))
        for start in range(0, len(drawn), _DRAWS_AT_ONCE)
    ]
    return torch.cat(sums)


def _summed(movable: float, observed: NDArray[np.float64], drawn: NDArray[np.float64]) -> Bundle:
    return Bundle({"observed": Moments.of(observed), "drawn": Sum(drawn), "movable": Sum(movable)})


def p_values(observed: NDArray[np.float64], drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 + number of draws at least as great) / (1 + draws), per head: never 0.

    >>> p_values(np.array([0.9, 0.1]), np.array([[0.5, 0.5], [0.6, 0.1], [0.9, 0.4]])).tolist()
    [0.5, 1.0]
    """
    # Sums in another order differ in the last digits; an equal draw must count as equal.
    reached = drawn >= observed - 1e-9 * np.abs(observed)
    p: NDArray[np.float64] = (1 + reached.sum(axis=0)) / (1 + len(drawn))
    return p


@MEASURES.register("frames")
class FrameRelations(LayerMeasure):
    """How strongly heads link a frame-evoking word with the frame's core elements.

    For every frame, over all token pairs (a, b) of its target and its core elements:

        value = max over (a, b) of max(pattern[a, b], pattern[b, a])

    `mean_max` is the mean over frames, with a 95 % interval. Filters as in the paper, counted in
    words: elements of at most 3, sentences of at most 12, target and element at least 2 apart; a
    frame that breaks one is left out (`drop=element`: only that element is).

    The baseline answers what a random pair at the same distance would get: each link is moved as
    a whole, target and element together, to a place drawn evenly from all where both lie inside
    the sentence, delimiters excluded, its own place included; then the value is taken as before.
    `baseline` is the mean over `n_draws` such corpora, `p_value` the share of corpora that reach
    the observed mean (one-sided, (1 + reached)/(1 + draws)), `q_value` its Benjamini–Hochberg
    correction over all heads, and `above` is q ≤ 0.05. A head above the baseline links these words
    more than their distance explains; it need not be about frames: verbs and their arguments are
    linked by syntax as well. Draws depend on a sequence's id and `seed` alone, so however the
    corpus is cut, they are the same.

    Source: Kovaleva et al. 2019, §4.2, "Relation-specific heads in BERT". Departures: the paper
    has no baseline, and one frame per sentence where here a sentence counts once per frame. Their
    code zips the two spans' tokens; here all pairs count, as the text says.
    """

    name: ClassVar[str] = "frames"
    needs: ClassVar[frozenset[str]] = frozenset({"words", "frames"})
    tables: ClassVar[tuple[str, ...]] = ("frames",)

    max_element: int = Field(3, ge=1, description="longest element in words")
    max_sentence: int = Field(12, ge=2, description="longest sentence in words")
    min_apart: int = Field(2, ge=1, description="least distance of target and element in words")
    drop: Literal["sentence", "element"] = Field(
        "sentence", description="what goes if an element breaks a filter: sentence or element"
    )
    n_draws: int = Field(999, ge=19, le=100_000, description="random corpora of the baseline")
    seed: int = Field(0, ge=0, description="of the draws")

    def applies_to(self, stack: StackLayout) -> bool:
        return stack.stack in ("self", "encoder")

    def look(self, view: View) -> Bundle | Later[Bundle]:
        pairs = view.once("frames/pairs", lambda: self._pairs(view))
        n_heads = view.n_heads
        if pairs is None:
            return Bundle(
                {
                    "observed": Moments.empty(n_heads),
                    "drawn": Sum(np.zeros((self.n_draws, n_heads))),
                    "movable": Sum(0.0),
                }
            )
        weights = place_weights(view.pattern, pairs)
        observed = weights[pairs.observed].amax(dim=1)
        drawn = drawn_sums(weights, pairs.drawn)
        return Later((observed, drawn), partial(_summed, float(pairs.n_movable)))

    def _pairs(self, view: View) -> FramePairs | None:
        filters = Filters(self.max_element, self.max_sentence, self.min_apart, self.drop)
        flat: list[tuple[int, int, int, int]] = []
        frames: list[tuple[list[int], list[int], NDArray[np.int64]]] = []
        n_places = n_movable = 0
        for i, encoded in enumerate(view.batch.encoded):
            for number, links in enumerate(frame_links(encoded, filters)):
                starts: list[int] = []
                for link in links:
                    starts.append(n_places)
                    for shift in range(link.least, link.most + 1):
                        flat += [(n_places, i, a, b) for a, b in link.pairs(shift)]
                        n_places += 1
                own = [start - link.least for start, link in zip(starts, links, strict=True)]
                drawn = drawn_places(encoded.sequence.id, number, links, self.n_draws, self.seed)
                frames.append((starts, own, drawn + starts))
                n_movable += any(link.n_places > 1 for link in links)
        if not frames:
            return None
        n_slots = max(len(starts) for starts, _, _ in frames)
        observed = np.stack([np.resize(own, n_slots) for _, own, _ in frames])
        slots = [np.resize(np.arange(len(starts)), n_slots) for starts, _, _ in frames]
        drawn = np.stack(
            [draws[:, slot] for (_, _, draws), slot in zip(frames, slots, strict=True)], axis=1
        )
        device = view.pattern.device
        place, sequence, first, second = torch.tensor(flat, device=device).unbind(dim=1)
        return FramePairs(
            place,
            sequence,
            first,
            second,
            n_places,
            torch.from_numpy(observed).to(device),
            torch.from_numpy(drawn).to(device),
            n_movable,
        )

    def finish(self, total: Total) -> Result:
        names = (
            *("stack", "layer", "head", "mean_max", "ci_low", "ci_high", "n"),
            *("baseline", "p_value", "n_movable"),
        )
        columns: dict[str, list[NDArray[np.generic]]] = {name: [] for name in names}
        for place, value in total.of(Bundle):
            moments: Moments = value.part("observed", Moments)
            n = np.maximum(moments.n, 1)
            drawn = value.part("drawn", Sum).total / n
            has_data = moments.n > 0
            low, high = mean_interval(moments.mean, moments.std, moments.n)
            movable = value.part("movable", Sum).total
            tested = has_data & (movable > 0)
            heads = np.arange(len(n))
            rows = (
                np.full(heads.shape, place.stack),
                np.full(heads.shape, place.layer),
                heads,
                moments.mean,
                low,
                high,
                moments.n,
                np.where(has_data, drawn.mean(axis=0), np.nan),
                np.where(tested, p_values(moments.mean, drawn), np.nan),
                np.full(heads.shape, int(movable)),
            )
            for name, row in zip(names, rows, strict=True):
                columns[name].append(row)
        table: dict[str, Any] = {
            name: np.concatenate(rows) if rows else [] for name, rows in columns.items()
        }
        q = benjamini_hochberg(table["p_value"])
        return Result({"frames": {**table, "q_value": q, "above": q <= 0.05}})
