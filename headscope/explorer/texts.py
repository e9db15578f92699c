"""The texts of a run's sequences, from a corpus that is the one the run read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from headscope.corpora import Corpus, shipped_corpus
from headscope.errors import HeadscopeError
from headscope.store import Run
from headscope.types import Sequence

_MOST = 20_000


class Texts:
    """Corpora at hand: the shipped one, and those named at start. Read when first needed."""

    def __init__(self, corpora: Iterable[str | Path] = ()) -> None:
        self._named = [Path(path) for path in corpora]
        self._read: dict[str, Mapping[str, Sequence]] | None = None

    def of(self, run: Run) -> Mapping[str, Sequence]:
        """Texts by sequence id; none if the run read another corpus."""
        if self._read is None:
            self._read = {}
            for corpus in self._corpora():
                try:
                    summary = corpus.scan()
                    texts = {
                        s.id: s for s, _ in zip(corpus.sequences(), range(_MOST), strict=False)
                    }
                except HeadscopeError:
                    continue
                self._read[summary.fingerprint] = texts
        return self._read.get(run.record.corpus.fingerprint, {})

    def _corpora(self) -> Iterable[Corpus]:
        yield shipped_corpus()
        for path in self._named:
            yield Corpus(path)
