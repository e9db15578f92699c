"""Made-up attention maps whose shape is known, as varied as real ones: what the network learns.

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
from headscope.measures.patterns.labelled_maps import Map, as_image, pooled
from headscope.measures.patterns.visibility import CELLS, visibility

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
        """Lengths are log-uniform to 128 and, for one map in six, beyond; one or two segments."""
        ends = (128, LONGEST) if rng.random() < 1 / 6 else (shortest, 128)
        n = round(np.exp(rng.uniform(*np.log(ends))))
        if segments is None:
            segments = int(rng.choice([1, 2], p=[0.5, 0.5]))
        inner = np.linspace(0, n, segments + 1)[1:-1] + rng.uniform(-0.12, 0.12) * n
        starts = (0, *(int(np.clip(x, 3, n - 3)) for x in inner))
        return cls(rng, n, bool(rng.random() < 0.45), starts)

    @cached_property
    def distance(self) -> NDArray[np.int64]:
        """Key minus query."""
        token = np.arange(self.n)
        return token - token[:, None]

    @property
    def pixel(self) -> float:
        """Tokens per cell of the network's image, at least one."""
        return max(1.0, self.n / CELLS)

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

    def plaid(self, spread: float) -> Weights:
        """Log-normal factors of low rank: what queries ask for and keys offer, word by word.

        Some words occur more than once, and neighbours may be alike.
        """
        rank = int(self.rng.integers(1, 7))
        words = self.rng.integers(0, max(2, int(self.n * self.between(0.4, 2.0))), self.n)
        asked, offered = (
            self.rng.standard_normal((int(words.max()) + 1, rank))[words] for _ in range(2)
        )
        if self.chance(0.4):  # topics: a walk from word to word
            asked, offered = (_smooth(x, int(self.rng.integers(2, 7))) for x in (asked, offered))
        found = np.clip(asked @ offered.T / np.sqrt(rank), -3.5, 3.5)
        return np.asarray(np.exp(spread * found - spread**2 / 2))

    def levelled(self, part: Weights) -> Weights:
        """A part whose brightest cell of an average row is 1 in the network's image."""
        part = np.tril(part) if self.causal else part
        seen = pooled(part, CELLS)
        return part / max(float(seen[len(seen) // 4 :].max(axis=1).mean()), 1e-9)


def _smooth(tokens: Weights, width: int) -> Weights:
    """A running mean over tokens, as spread out as before."""
    total = np.cumsum(np.pad(tokens, ((width, width), (0, 0)), mode="edge"), axis=0)
    mean = (total[2 * width :] - total[: -2 * width]) / (2 * width)
    return np.asarray(mean / np.maximum(mean.std(axis=0), 0.1))


# --- parts ------------------------------------------------------------------------------------


def background(page: Page, *, stripes: float = 0.0, apart: float = 0.3) -> Weights:
    """Even, grainy, cloudy, with rows of uneven texture; mean 1 per image cell.

    `apart` is how dark it may be between segments.
    """
    n = page.n
    base = page.grain(page.between(0.05, 0.7))
    if page.chance(0.7):
        base *= page.plaid(page.between(0.2, 1.0))
    if page.chance(0.3):
        base *= page.cloud(page.between(0.2, 0.8))
    if page.chance(0.5):
        base *= page.grain(page.between(0.1, 0.4), (1, n))
    if stripes:
        base *= page.grain(stripes, (1, n))
    if page.chance(0.3):  # rows with a texture of their own: some words look around
        wild = page.rng.random((n, 1)) < page.between(0.1, 0.6)
        base = np.where(wild, base * page.grain(page.between(0.5, 1.1), (1, n)), base)
    if page.chance(0.2):  # rows that dim
        base *= np.where(page.rng.random((n, 1)) < 0.3, page.between(0.2, 1.0), 1.0)
    if len(page.starts) > 1 and page.chance(0.4):
        base *= np.where(_same_segment(page), 1.0, page.between(apart, 1.0))
    if page.chance(0.3):  # a breath of nearness
        near = np.abs(page.distance) / n
        base *= 1 + page.between(0.3, 1.2) * np.exp(-near * page.between(3, 15))
    return np.asarray(base / base.mean() / page.pixel)


def _same_segment(page: Page) -> NDArray[np.bool_]:
    of = np.searchsorted(page.starts, np.arange(page.n), side="right")
    return np.asarray(of[:, None] == of)


def _pillars(page: Page) -> Weights:
    """One to a few columns, on delimiters or anywhere; the brightest is 1."""
    n, rng = page.n, page.rng
    strength = np.zeros(n)
    delimiters = [0, *(s - 1 for s in page.starts[1:]), *page.starts[1:]]
    if not page.causal:  # nobody could look at the last token
        delimiters.append(n - 1)
    first = page.chance(0.75 if page.causal else 0.6)
    if first:
        strength[0] = 1.0
    else:
        anywhere = int(rng.integers(0, n // 2 if page.causal else n))
        known = int(rng.choice(delimiters[1:] or [0]))
        strength[known if page.chance(0.6) else anywhere] = 1.0
    if page.causal and len(page.starts) > 1 and page.chance(0.5):
        strength[page.starts[1]] = page.ratio(0.3, 1.0)
    for at in (*delimiters, *rng.integers(0, n, 3)):
        if page.chance(0.3):
            strength[at] = max(strength[at], page.ratio(0.15, 1.0))
    if page.chance(0.25):  # two neighbouring tokens share a column
        at = int(np.argmax(strength))
        beside = min(at + 1, n - 1)
        strength[beside] = max(strength[beside], page.between(0.2, 0.9))
    return strength


def _stripes(page: Page) -> Weights:
    """Columns all over, of all strengths; the brightest few are about 1."""
    n = page.n
    strength = page.grain(page.between(0.7, 1.4), (n,)) / page.pixel
    if page.chance(0.5):
        ends = [0, *page.starts[1:]]
        strength[page.rng.choice(ends)] = strength.max() * page.between(0.8, 2.0)
    return strength / np.quantile(strength, 1 - min(0.3, 2 / n))


def columns(page: Page, *, striped: bool = False) -> Weights:
    """Columns that hold from row to row, more or less, and may leave some rows out."""
    n = page.n
    strength = _stripes(page) if striped else _pillars(page)
    held = page.grain(page.between(0.05, 0.6), (n, 1)) * page.grain(page.between(0.0, 0.5))
    if striped and page.chance(0.5):
        held *= page.plaid(page.between(0.1, 0.6))
    if page.chance(0.35):
        held *= np.where(page.rng.random((n, 1)) < page.between(0.05, 0.45), 0.2, 1.0)
    return page.levelled(strength * held)


def diagonal(page: Page) -> Weights:
    """A line, a band, a fading band, echoes in parallel, or short steps; brightest about 1."""
    n, distance = page.n, page.distance
    kind = page.rng.random()
    if kind < (0.3 if page.causal else 0.06):
        return _steps(page)
    centre = int(page.rng.choice([-2, -1, 0, 1, 2], p=[0.08, 0.32, 0.3, 0.24, 0.06]))
    width = page.ratio(0.3, 1.2) if page.chance(0.5) else page.ratio(0.5, max(1.0, n / 9))
    away = np.abs(distance - centre) / width
    if kind < 0.4:
        line = np.exp(-0.5 * away**2)
    elif kind < 0.65:
        line = np.exp(-away)
    elif kind < 0.9:
        line = 1 / (1 + away**2)
    else:
        line = 1 / (1 + away) ** 1.3
    if kind > 0.8 and n >= 24:  # a cloud around the line, torn
        reach = page.between(0.04, 0.16) * n
        line += np.exp(-np.abs(distance) / reach) * page.plaid(1.0) * page.between(0.2, 0.7)
    if page.chance(0.25):  # one side only
        side = page.rng.choice([-1, 1])
        line *= np.where(distance * side >= 0, 1.0, page.between(0.0, 0.4))
    if page.chance(0.35):  # echoes, as position embeddings make them
        period = page.between(0.12, 0.35) * n + 3
        echo = np.exp(6 * (np.cos(2 * np.pi * (distance - centre) / period) - 1))
        line += page.between(0.05, 0.35) * echo
    line *= page.grain(page.between(0.05, 0.7), (n, 1)) * page.grain(page.between(0.05, 0.7))
    if page.chance(0.35):
        line *= page.grain(page.between(0.2, 0.7), (1, n))
    if n >= 24 and page.chance(0.4):
        line *= page.plaid(page.between(0.2, 1.0))
    if page.chance(0.25):  # broken: some rows do without
        share = page.between(0.05, 0.4 if n >= 24 else 0.15)
        line *= np.where(page.rng.random((n, 1)) < share, 0.1, 1.0)
    return page.levelled(line)


def _steps(page: Page) -> Weights:
    """Every token looks at the last anchor before it: short columns along the diagonal."""
    n = page.n
    every = page.ratio(2, max(3.0, n / 5))
    anchors = np.flatnonzero(page.rng.random(n) < 1 / every)
    anchors = np.union1d(anchors, [0])
    last = anchors[np.searchsorted(anchors, np.arange(n), side="right") - 1]
    line = np.zeros((n, n))
    line[np.arange(n), last] = 1.0
    before = np.maximum(last - 1, 0)
    line[np.arange(n), before] += page.between(0.0, 0.5)
    line += page.between(0.1, 0.8) * np.exp(
        -np.abs(page.distance) / page.ratio(0.5, max(2, n / 10))
    )
    return page.levelled(line * page.grain(page.between(0.2, 0.7)))


def blocks(page: Page) -> Weights:
    """Squares along the diagonal, evenly filled or textured; inside about 1 per image cell."""
    inside = _same_segment(page).astype(np.float64)
    if page.chance(0.4):  # delimiters may stand outside
        inside[0] = page.between(0, 1)
    texture = page.grain(page.between(0.1, 0.8)) * page.grain(page.between(0.0, 0.6), (1, page.n))
    if page.chance(0.6):
        texture *= page.plaid(page.between(0.2, 1.0))
    if page.chance(0.5):  # fades away from the diagonal, yet fills the square
        far = np.abs(page.distance) / page.n
        texture *= np.exp(-far * page.between(0.5, 2.5))
    leak = page.ratio(0.02, 0.22 if page.causal else 0.4)
    return (inside + leak * (1 - inside)) * texture / page.pixel


# --- shapes -----------------------------------------------------------------------------------


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
        own = _same_segment(page) & first
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
        if visibility(as_image(made, CELLS)).fits(pattern):
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
