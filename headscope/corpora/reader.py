"""What a reader is, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from headscope.corpora.options import ReadOptions
from headscope.corpora.source import Source
from headscope.registry import Registry
from headscope.types import Sequence


class Reader(Protocol):
    """A function that turns one file into its sequences, in order, holding as few as it can.

    A sequence the file does not name has the id ""; the corpus numbers it. Anything the format
    does not allow is an `InputError` with its line.
    """

    def __call__(self, source: Source, options: ReadOptions, /) -> Iterator[Sequence]: ...


READERS: Registry[Reader] = Registry("reader", "headscope.corpora.readers")
