"""The corpus that comes with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from headscope.corpora.corpus import Corpus
from headscope.corpora.options import ReadOptions


def shipped_corpus(*, limit: int | None = None, sample: int | None = None, seed: int = 0) -> Corpus:
    """Short English passages with words, universal dependencies, coreference and frames.

    Each passage is one sequence of two segments.
    """
    file = resources.files("headscope.corpora.shipped") / "passages.conllu"
    options = ReadOptions(unit="document", pair=True)
    return Corpus(Path(str(file)), options=options, limit=limit, sample=sample, seed=seed)
