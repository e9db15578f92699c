"""Mergeable values: what a measure makes of a batch, and what adds up over a corpus."""

from headscope.values.bundle import Bundle
from headscope.values.counts import Counts
from headscope.values.example import Example
from headscope.values.histogram import Histogram
from headscope.values.moments import Moments
from headscope.values.pack import pack, unpack
from headscope.values.reservoir import Reservoir
from headscope.values.sample import Sample
from headscope.values.sums import Sum
from headscope.values.top_k import TopK
from headscope.values.value import VALUES, Arrays, Value

__all__ = [
    "VALUES",
    "Arrays",
    "Bundle",
    "Counts",
    "Example",
    "Histogram",
    "Moments",
    "Reservoir",
    "Sample",
    "Sum",
    "TopK",
    "Value",
    "pack",
    "unpack",
]
