"""What a made-up map is drawn on: its size, and the kinds of chance it is made with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headscope.measures.patterns.cuts import CELLS
from headscope.measures.patterns.labelled_maps import pooled

Weights: TypeAlias = NDArray[np.float64]
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
