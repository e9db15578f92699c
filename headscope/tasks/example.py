"""What a task asks: texts with what is right about them."""

from __future__ import annotations

from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headscope.types import Encoded, Sequence


@dataclass(frozen=True, slots=True)
class Answer:
    """A gold answer: its text, and where it begins in the second segment."""

    text: str
    start: int


#: A class by its index, a number, the gold answers of a question, or nothing (language models).
Gold: TypeAlias = int | float | tuple[Answer, ...] | None


@dataclass(frozen=True, slots=True)
class Example:
    """One text, or pair of texts, and its gold label."""

    sequence: Sequence
    gold: Gold


@dataclass(frozen=True)
class Split:
    """The examples of one part of a data set, and a fingerprint of what they were made from."""

    name: str
    examples: tuple[Example, ...]
    files: tuple[str, ...]
    fingerprint: str

    def __len__(self) -> int:
        return len(self.examples)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An example as a model reads it. `target` is what its loss is taken against."""

    encoded: Encoded
    example: Example
    target: int | float | tuple[int, int] | None

    @property
    def n_tokens(self) -> int:
        return self.encoded.n_tokens


def gold_numbers(prepared: SequenceABC[Prepared]) -> NDArray[np.float64]:
    """Classes and numbers as an array; NaN where the gold is no number."""
    golds = (p.example.gold for p in prepared)
    return np.array([float(g) if isinstance(g, int | float) else np.nan for g in golds])
