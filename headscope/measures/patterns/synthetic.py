"""Made-up attention maps whose shape is known, as varied as real ones: what the network learns from.

A map is a sum of parts (columns, a diagonal, blocks, a background), each with its own noise; rows
are made to sum to 1, above the diagonal everything is 0 if the map is causal. How bright a part is
follows the labelling rule in `docs/patterns.md`: brightness is meant as the weight per cell of the
image the network sees, so that a column or a diagonal is as plain in a map of 12 tokens as in one
of 500.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.labelled_maps import Map
from headscope.measures.patterns.resampling import SIZE

Weights = NDArray[np.float64]
SHORTEST, LONGEST = 8, 512


@dataclass(frozen=True, eq=False)
class Page:
    """What a map is drawn on: its length, its segments, whether it is causal, and chance."""

    rng: np.random.Generator
    n: int
    causal: bool
    starts: tuple[int, ...] = field(default=(0,))

    @classmethod
    def random(
        cls, rng: np.random.Generator, *, shortest: int = SHORTEST, segments: int | None = None
    ) -> Page:
        """Lengths are log-uniform; one segment, or two of uneven length."""
        n = round(np.exp(rng.uniform(np.log(shortest), np.log(LONGEST))))
        if segments is None:
            segments = int(rng.choice([1, 2], p=[0.5, 0.5]))
        inner = np.linspace(0, n, segments + 1)[1:-1] + rng.uniform(-0.12, 0.12) * n
        starts = (0, *(int(np.clip(x, 3, n - 3)) for x in inner))
        return cls(rng, n, bool(rng.random() < 0.45), starts)

    @cached_property
    def distance(self) -> NDArray[np.int64]:
        """key − query."""
        token = np.arange(self.n)
        return token - token[:, None]

    @property
    def pixel(self) -> float:
        """Tokens per cell of the network's image, at least one."""
        return max(1.0, self.n / SIZE)

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def ratio(self, low: float, high: float) -> float:
        """Log-uniform."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def grain(self, spread: float, shape: tuple[int, ...] | None = None) -> Weights:
        """Log-normal factors with mean 1."""
        noise = self.rng.standard_normal(shape or (self.n, self.n), dtype=np.float32)
        return np.asarray(np.exp(spread * noise - spread**2 / 2), dtype=np.float64)

    def cloud(self, spread: float) -> Weights:
        """Smooth log-normal factors: a coarse random field, stretched."""
        coarse = int(self.rng.integers(3, 9))
        field_ = self.rng.standard_normal((coarse, coarse))
        at = np.linspace(0, coarse - 1, self.n)
        low = np.minimum(at.astype(int), coarse - 2)
        part = at - low
        rows = field_[low] * (1 - part)[:, None] + field_[low + 1] * part[:, None]
        both = rows[:, low] * (1 - part) + rows[:, low + 1] * part
        return np.asarray(np.exp(spread * both - spread**2 / 2))


# --- parts ------------------------------------------------------------------------------------


def background(page: Page, *, stripes: float = 0.0) -> Weights:
    """Even, grainy, cloudy, with rows of uneven texture; mean 1 per image cell."""
    base = page.grain(page.between(0.1, 0.9))
    if page.chance(0.35):
        base *= page.cloud(page.between(0.2, 0.7))
    if page.chance(0.4):
        base *= page.grain(page.between(0.1, 0.35), (1, page.n))
    if stripes:
        base *= page.grain(stripes, (1, page.n))
    if page.chance(0.2):  # rows with other texture: every other word looks around
        wild = page.rng.random((page.n, 1)) < page.between(0.1, 0.5)
        base = np.where(wild, base * page.grain(page.between(0.5, 1.0), (1, page.n)), base)
    return base / page.pixel


def columns(page: Page) -> Weights:
    """One to a few columns, on delimiters or anywhere, or stripes all over; brightest about 1."""
    n, rng = page.n, page.rng
    strength = np.zeros(n)
    kind = rng.random()
    delimiters = [0, n - 1, *(s - 1 for s in page.starts[1:]), *page.starts[1:]]
    if kind < 0.4 or page.causal and kind < 0.6:
        strength[0] = 1.0
        for at in delimiters[1:]:
            if page.chance(0.35):
                strength[at] = page.ratio(0.25, 1.0)
    elif kind < 0.7:
        chosen = rng.choice(delimiters[1:]) if page.chance(0.6) else rng.integers(0, n * 3 // 4 + 1)
        strength[int(chosen)] = 1.0
        for at in (*delimiters, *rng.integers(0, n, 3)):
            if page.chance(0.4):
                strength[at] = max(strength[at], page.ratio(0.2, 1.0))
    else:
        strength = page.grain(page.between(0.7, 1.4), (n,)) / page.pixel
        if page.chance(0.5):
            strength[rng.choice(delimiters)] = strength.max() * page.between(0.8, 2.0)
        strength /= np.quantile(strength, 1 - min(0.3, 2 / n))
    if page.chance(0.3):  # two neighbouring tokens share a column
        at = int(np.argmax(strength))
        strength[min(at + 1, n - 1)] = max(strength[min(at + 1, n - 1)], page.between(0.2, 0.9))
    held = page.grain(page.between(0.05, 0.5), (n, 1)) * page.grain(page.between(0.0, 0.45))
    return strength * held


def diagonal(page: Page) -> Weights:
    """A line, a band, a fading band, echoes in parallel, or short steps; brightest about 1."""
    n, distance = page.n, page.distance
    kind = page.rng.random()
    if kind < (0.2 if page.causal else 0.06):
        return _steps(page)
    centre = int(page.rng.choice([-2, -1, 0, 1, 2], p=[0.08, 0.32, 0.3, 0.24, 0.06]))
    width = page.ratio(0.3, 1.2) if page.chance(0.5) else page.ratio(0.5, max(1.0, n / 9))
    away = np.abs(distance - centre) / width
    if kind < 0.4:
        line = np.exp(-0.5 * away**2)
    elif kind < 0.75:
        line = np.exp(-away)
    else:
        line = 1 / (1 + away**2)
    if page.chance(0.25):  # one side only
        side = page.rng.choice([-1, 1])
        line *= np.where(distance * side >= 0, 1.0, page.between(0.0, 0.4))
    if page.chance(0.35):  # echoes, as position embeddings make them
        period = page.between(0.12, 0.35) * n + 3
        echo = np.exp(6 * (np.cos(2 * np.pi * (distance - centre) / period) - 1))
        line += page.between(0.05, 0.3) * echo
    line *= page.grain(page.between(0.05, 0.6), (n, 1)) * page.grain(page.between(0.05, 0.6))
    if page.chance(0.25):
        line *= page.grain(page.between(0.2, 0.6), (1, n))
    if page.chance(0.2):  # broken: some rows do without
        line *= np.where(page.rng.random((n, 1)) < page.between(0.05, 0.35), 0.1, 1.0)
    thick = max(1.0, min(width * 2, page.pixel)) / page.pixel  # how much of an image cell it fills
    return line / max(thick, 0.3)


def _steps(page: Page) -> Weights:
    """Every token looks at the last anchor before it: short columns along the diagonal."""
    n = page.n
    every = page.between(2, max(3.0, n / 10))
    anchors = np.flatnonzero(page.rng.random(n) < 1 / every)
    anchors = np.union1d(anchors, [0])
    last = anchors[np.searchsorted(anchors, np.arange(n), side="right") - 1]
    line = np.zeros((n, n))
    line[np.arange(n), last] = 1.0
    before = np.maximum(last - 1, 0)
    line[np.arange(n), before] += page.between(0.0, 0.5)
    line += page.between(0.1, 0.8) * np.exp(-np.abs(page.distance) / page.between(0.5, 2.0))
    return line * page.grain(page.between(0.2, 0.7))


def blocks(page: Page) -> Weights:
    """Squares along the diagonal, evenly filled or textured; inside about 1."""
    of = np.searchsorted(page.starts, np.arange(page.n), side="right")
    inside = (of[:, None] == of).astype(np.float64)
    if page.chance(0.4):  # delimiters may stand outside
        inside[0] = page.between(0, 1)
    texture = page.grain(page.between(0.1, 0.9)) * page.grain(page.between(0.0, 0.5), (1, page.n))
    if page.chance(0.5):  # fades away from the diagonal, yet fills the square
        far = np.abs(page.distance) / page.n
        texture *= np.exp(-far * page.between(0.5, 2.5))
    return (inside + page.ratio(0.01, 0.22) * (1 - inside)) * texture / page.pixel


# --- shapes -----------------------------------------------------------------------------------


def _trace(page: Page, bright: float) -> float:
    """How bright a part may be that has to be looked for: lost in the background, or outshone."""
    return page.between(0.1, 1.2) if page.chance(0.5) else page.between(0.005, 0.06) * bright


def _spots(page: Page, bright: float) -> Weights:
    """A few scattered cells, as any real map has them."""
    spots = page.rng.random((page.n, page.n)) < page.ratio(0.2, 2) / page.n
    return spots * page.between(0.2, 0.7) * bright


def _vertical(page: Page) -> Weights:
    bright = page.ratio(2.5, 60)
    found = background(page) + bright * columns(page)
    if page.chance(0.4):
        found += _trace(page, bright) * diagonal(page)
    if page.chance(0.3):
        found += _spots(page, bright)
    return found


def _diagonal(page: Page) -> Weights:
    bright = page.ratio(4, 150)
    found = background(page) + bright * diagonal(page)
    if page.chance(0.5):
        found += _trace(page, bright) * columns(page)
    if page.chance(0.2):
        found += _spots(page, 0.5 * bright)
    return found


def _both(page: Page) -> Weights:
    line, pillars = page.ratio(4, 90), page.ratio(3.5, 90)
    line, pillars = max(line, 0.12 * pillars), max(pillars, 0.15 * line)
    found = background(page) + line * diagonal(page) + pillars * columns(page)
    if page.chance(0.2):
        found += _spots(page, min(line, pillars))
    return found


def _block(page: Page) -> Weights:
    found = blocks(page)
    if page.chance(0.35):
        found += page.ratio(0.3, 3) / page.pixel * diagonal(page)
    if page.chance(0.6):  # columns on delimiters, each in its own square
        of = np.searchsorted(page.starts, np.arange(page.n), side="right")
        first = np.isin(np.arange(page.n), page.starts)
        own = (of[:, None] == of) & first
        found += own * page.ratio(0.5, 12) * page.grain(0.3, (page.n, 1)) / page.pixel
    if page.chance(0.25):
        found += page.ratio(0.3, 3) / page.pixel * columns(page)
    return found


def _heterogeneous(page: Page) -> Weights:
    n, rng = page.n, page.rng
    kind = rng.random()
    found = background(page, stripes=page.between(0.0, 0.3))
    if kind < 0.08:
        return np.ones((n, n)) * page.grain(page.between(0, 0.3))
    if kind < 0.55:
        found *= page.cloud(page.between(0.4, 1.2))
    if kind > 0.4:  # scattered cells, often mirrored as between equal words
        spots = rng.random((n, n)) < page.ratio(0.5, 4) / n
        if page.chance(0.5):
            spots |= spots.T
        found += spots * page.ratio(2, 25) * page.grain(0.7)
    if kind > 0.7:  # pieces of columns and rows with a mind of their own
        for _ in range(int(rng.integers(2, 7))):
            at, top = int(rng.integers(0, n)), int(rng.integers(0, n))
            length = int(rng.integers(1, max(2, n // 4)))
            found[top : top + length, at] += page.ratio(2, 15) * page.between(0.5, 1)
        rows = rng.random((n, 1)) < page.between(0.05, 0.4)
        found += rows * page.grain(1.2) * page.between(0.5, 3)
    if page.chance(0.3):  # the first column shines for a while only
        found[: int(n * page.between(0.1, 0.5)), 0] += page.ratio(2, 20)
    if page.chance(0.2):
        found += page.between(0.1, 0.6) * diagonal(page)
    if page.chance(0.5):
        found += page.ratio(0.1, 0.8) * columns(page)
    return found


SHAPES: dict[str, Callable[[Page], Weights]] = {
    "vertical": _vertical,
    "diagonal": _diagonal,
    "vertical_diagonal": _both,
    "block": _block,
    "heterogeneous": _heterogeneous,
}


def synthetic_map(pattern: str, seed: int) -> Map:
    """One map of a shape; the same seed gives the same map.

    >>> one = synthetic_map("diagonal", seed=3)
    >>> bool(np.allclose(one.sum(axis=1), 1, atol=1e-5)), one.shape[0] == one.shape[1]
    (True, True)
    """
    rng = np.random.default_rng([seed, PATTERNS.index(pattern)])
    if pattern == "block":  # squares of fewer than six tokens are a thick diagonal
        segments = int(rng.choice([2, 3, 4], p=[0.8, 0.12, 0.08]))
        page = Page.random(rng, shortest=6 * segments, segments=segments)
    else:
        page = Page.random(rng)
    weights = SHAPES[pattern](page)
    if page.causal:
        weights = np.tril(weights)
        weights[:, 0] += 1e-6
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)
