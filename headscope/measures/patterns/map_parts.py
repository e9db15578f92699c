"""The parts of a made-up map: background, columns, a diagonal, blocks.

Brightness is the weight per cell of the image the network sees, so that a column or a diagonal is
as plain in a map of 12 tokens as in one of 500.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.measures.patterns.page import Page, Weights


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
        base *= np.where(same_segment(page), 1.0, page.between(apart, 1.0))
    if page.chance(0.3):  # a breath of nearness
        near = np.abs(page.distance) / n
        base *= 1 + page.between(0.3, 1.2) * np.exp(-near * page.between(3, 15))
    return np.asarray(base / base.mean() / page.pixel)


def same_segment(page: Page) -> NDArray[np.bool_]:
    """Which pairs of tokens stand in one segment."""
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
    inside = same_segment(page).astype(np.float64)
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
