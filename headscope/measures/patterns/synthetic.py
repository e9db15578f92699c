"""Made-up attention maps whose shape is known, as varied as real ones: what the network learns.

A map is a sum of parts (`map_parts`), each with its own noise; rows are made to sum to 1, above the
diagonal everything is 0 if the map is causal. How bright a part is follows the labelling rule in
`docs/patterns.md`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.labelled_maps import Map
from headscope.measures.patterns.map_parts import (
    background,
    blocks,
    columns,
    diagonal,
    same_segment,
)
from headscope.measures.patterns.page import Page, Weights
from headscope.measures.patterns.visibility import looks_like


def _trace(page: Page, bright: float, most: float) -> float:
    """How bright a part may be that has to be looked for: lost in the background, or outshone."""
    return page.between(0.1, 1.2) if page.chance(0.5) else page.between(0.005, most) * bright


def _spots(page: Page, bright: float) -> Weights:
    """A few scattered cells, as any real map has them."""
    spots = page.rng.random((page.n, page.n)) < page.ratio(0.2, 2.5) / page.n
    if page.chance(0.4):  # words that occur twice look at each other
        spots |= spots.T
    return np.where(spots, page.between(0.15, 0.7) * bright, 0.0)


def _vertical(page: Page) -> Weights:
    striped = page.chance(0.35)
    bright = page.ratio(4 if striped else 3, 60)
    found = background(page, apart=0.5) + bright * columns(page, striped=striped)
    if page.chance(0.4):
        found += _trace(page, bright, 0.06) * diagonal(page)
    if page.chance(0.45):
        found += _spots(page, bright)
    if page.chance(0.4):
        found *= page.plaid(page.between(0.2, 0.7))
    if page.chance(0.3):
        found *= page.cloud(page.between(0.2, 0.6))
    return found


def _diagonal(page: Page) -> Weights:
    bright = page.ratio(3.5, 300)
    found = background(page) + bright * diagonal(page)
    if page.chance(0.6):
        found += _trace(page, bright, 0.09) * columns(page, striped=page.chance(0.3))
    if page.chance(0.3):
        found += _spots(page, 0.5 * bright)
    return found


def _both(page: Page) -> Weights:
    striped = page.chance(0.2)
    line, pillars = page.ratio(5, 150), page.ratio(4, 90)
    line = max(line, (0.6 if striped else 0.14) * pillars)
    pillars = max(pillars, (0.3 if striped else 0.14) * line)
    found = background(page) + line * diagonal(page) + pillars * columns(page, striped=striped)
    if page.chance(0.25):
        found += _spots(page, min(line, pillars))
    return found


def _block(page: Page) -> Weights:
    found = blocks(page)
    if page.chance(0.5):
        found += page.ratio(0.3, 8.0) * diagonal(page)
    if page.chance(0.6):  # columns on delimiters, each in its own square
        first = np.isin(np.arange(page.n), page.starts)
        own = same_segment(page) & first
        found += own * page.ratio(0.5, 4) * page.grain(0.4, (page.n, 1))
    if page.chance(0.3):
        found += page.ratio(0.3, 3) * columns(page)
    return found


def _pale(page: Page) -> Weights:
    """Nearly even attention: grain, a hint of stripes, an end that is a little brighter."""
    n = page.n
    found = page.grain(page.between(0.1, 0.5)) * page.grain(page.between(0.02, 0.3), (1, n))
    found *= page.cloud(page.between(0.05, 0.35)) * page.plaid(page.between(0.05, 0.4))
    found /= page.pixel
    if page.chance(0.7):
        found += page.between(0.2, 1.5) * columns(page, striped=page.chance(0.3))
    if page.chance(0.3):
        found += page.between(0.1, 0.6) * diagonal(page)
    if page.chance(0.3):
        found += _spots(page, page.between(0.5, 2.5))
    return found


def _torn(page: Page) -> Weights:
    """Causal attention in pieces: clusters, bits of columns and of a diagonal, streaks of rows."""
    n, rng = page.n, page.rng
    found = background(page, stripes=page.between(0.0, 0.6), apart=0.6)
    found *= page.plaid(page.between(0.4, 1.3)) * page.cloud(page.between(0.2, 1.0))
    if page.chance(0.7):
        some = rng.random((n, 1)) < page.between(0.2, 0.7)
        found += some * page.ratio(1.5, 12) * diagonal(page) * page.plaid(1.0)
    for _ in range(int(rng.integers(0, 10))):
        at = int(rng.integers(0, n))
        top = min(n - 1, at + int(rng.integers(0, max(2, n // 3))))
        length = int(rng.integers(1, max(2, n // 3)))
        found[top : top + length, at] += page.ratio(2, 15)
    if page.chance(0.5):  # the first column shines for a while only
        found[: int(n * page.between(0.1, 0.6)), 0] += page.ratio(2, 20)
    if page.chance(0.5):
        quiet = rng.random((n, 1)) < page.between(0.1, 0.5)
        found *= np.where(quiet, page.grain(1.0), 1.0)
    return found


def _heterogeneous(page: Page) -> Weights:
    n, rng = page.n, page.rng
    kind = rng.random()
    if kind < 0.06:
        return np.ones((n, n)) * page.grain(page.between(0, 0.3))
    if page.chance(0.4 if page.causal else 0.0):
        return _torn(page)
    if page.chance(0.35):
        return _pale(page)
    found = background(page, stripes=page.between(0.0, 0.4), apart=0.65)
    if kind < 0.4:
        found *= page.cloud(page.between(0.2, 1.1))
    if page.chance(0.5):
        found *= page.plaid(page.between(0.4, 1.3))
    if kind > 0.45:  # scattered cells, often mirrored as between equal words
        spots = rng.random((n, n)) < page.ratio(0.5, 4) / n
        if page.chance(0.5):
            spots |= spots.T
        found += spots * page.ratio(2, 25) * page.grain(0.7)
    if kind > 0.7:  # pieces of columns and rows with a mind of their own
        for _ in range(int(rng.integers(2, 9))):
            at, top = int(rng.integers(0, n)), int(rng.integers(0, n))
            length = int(rng.integers(1, max(2, n // 3)))
            found[top : top + length, at] += page.ratio(2, 15) * page.between(0.5, 1)
        rows = rng.random((n, 1)) < page.between(0.05, 0.4)
        found += rows * page.grain(1.2) * page.between(0.5, 3) / page.pixel
    if page.chance(0.3):  # the first column shines for a while only
        found[: int(n * page.between(0.1, 0.5)), 0] += page.ratio(2, 20)
    if page.chance(0.25):
        found += page.between(0.1, 0.8) * diagonal(page)
    if page.chance(0.6):
        found += page.ratio(0.2, 2.0) * columns(page, striped=page.chance(0.4))
    return found


SHAPES: dict[str, Callable[[Page], Weights]] = {
    "vertical": _vertical,
    "diagonal": _diagonal,
    "vertical_diagonal": _both,
    "block": _block,
    "heterogeneous": _heterogeneous,
}


#: Drafts of a map, until one looks as it should.
_DRAFTS = 12


def synthetic_map(pattern: str, seed: int) -> Map:
    """One map of a shape; the same seed gives the same map.

    Parts meet by chance and may hide one another, so a draft counts only if its parts are as plain
    to see as the labelling rule wants them; the last of twelve is taken as it is.

    >>> one = synthetic_map("diagonal", seed=3)
    >>> bool(np.allclose(one.sum(axis=1), 1, atol=1e-5)), one.shape[0] == one.shape[1]
    (True, True)
    """
    for draft in range(_DRAFTS):
        made = _draft(pattern, np.random.default_rng([seed, PATTERNS.index(pattern), draft]))
        if looks_like(pattern, made):
            break
    return made


def _draft(pattern: str, rng: np.random.Generator) -> Map:
    if pattern == "block":  # squares of fewer than seven tokens are a thick diagonal
        segments = int(rng.choice([2, 3], p=[0.94, 0.06]))
        page = Page.random(rng, shortest=7 * segments, segments=segments)
    else:
        page = Page.random(rng)
    weights = SHAPES[pattern](page)
    weights **= page.between(0.85, 1.2)  # heads are more or less sure of themselves
    if page.causal:
        weights = np.tril(weights)
        weights[:, 0] += 1e-6
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)
