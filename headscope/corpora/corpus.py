"""A corpus: any number of sources as one stream of sequences, as often as one likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from headscope.corpora.checks import check_text
from headscope.corpora.identity import UniqueIds, unique_stems
from headscope.corpora.options import ReadOptions
from headscope.corpora.parts import Item, ListPart, Part, part_of
from headscope.corpora.sampling import sample_in_order
from headscope.corpora.spacy_annotator import SpacyAnnotator
from headscope.corpora.summary import CorpusSummary, FileSummary
from headscope.errors import InputError, UsageError
from headscope.types import Sequence

Location: TypeAlias = str | Path


class Corpus:
    """Sequences from files, in the order of the files, streamed.

    `reader` overrides what suffix and first lines tell. `limit` keeps the first sequences;
    `sample` draws that many of them uniformly without replacement, in their order, by `seed` (all
    of them if there are fewer). `annotate="spacy:NAME"` adds words, tags, dependencies and
    sentences to plain text. Nothing is opened before it is asked for.

    >>> corpus = Corpus.of(["One.", ("Two?", "Three!")])
    >>> [(s.id, s.text, s.pair) for s in corpus]
    [('list:1', 'One.', None), ('list:2', 'Two?', 'Three!')]
    >>> corpus.scan().annotations
    {'pair': 1}
    """

    def __init__(
        self,
        sources: Location | Iterable[Location],
        *,
        reader: str | None = None,
        options: ReadOptions | None = None,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        annotate: str | None = None,
    ) -> None:
        listed = [sources] if isinstance(sources, str | Path) else list(sources)
        if not listed:
            raise UsageError("a corpus needs at least one file")
        parts = [part_of(source, reader) for source in listed]
        self._set(parts, options, limit, sample, seed, annotate)

    @classmethod
    def of(
        cls,
        items: Iterable[Item],
        *,
        options: ReadOptions | None = None,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        annotate: str | None = None,
    ) -> Corpus:
        """A corpus of texts, pairs of texts or sequences, checked and held in memory."""
        corpus = cls.__new__(cls)
        corpus._set([ListPart.of(items)], options, limit, sample, seed, annotate)
        return corpus

    def _set(
        self,
        parts: Iterable[Part],
        options: ReadOptions | None,
        limit: int | None,
        sample: int | None,
        seed: int,
        annotate: str | None,
    ) -> None:
        for name, value in (("limit", limit), ("sample", sample)):
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}; expected 1 or more")
        self.parts = tuple(parts)
        self.options = options or ReadOptions()
        self.limit, self.sample, self.seed = limit, sample, seed
        self.annotator = None if annotate is None else SpacyAnnotator.parse(annotate)
        self._stems = unique_stems(part.stem for part in self.parts)
        self._summary: CorpusSummary | None = None
        self._cursor: tuple[int, Iterator[Sequence]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cursor": None}

    def __repr__(self) -> str:
        return f"Corpus({', '.join(part.name for part in self.parts)})"

    def __iter__(self) -> Iterator[Sequence]:
        return self.sequences()

    def sequences(self, start: int = 0, stop: int | None = None) -> Iterator[Sequence]:
        """Sequences `start` up to and without `stop`, counted after `limit` and `sample`.

        Files are read from their beginning; but whoever asks for one range after the other goes on
        where the last one ended, so that going through a corpus in shards reads it once.
        """
        if start < 0 or (stop is not None and stop < start):
            raise UsageError(f"sequences {start} to {stop}; expected 0 ≤ start ≤ stop")
        chosen = self._range(start, stop)
        return chosen if self.annotator is None else self.annotator.annotate(chosen)

    def _range(self, start: int, stop: int | None) -> Iterator[Sequence]:
        at, stream = self._cursor or (0, self._chosen())
        self._cursor = None
        if at > start:
            at, stream = 0, self._chosen()
        while stop is None or at < stop:
            sequence = next(stream, None)
            if sequence is None:
                return
            at += 1
            if at > start:
                yield sequence
        self._cursor = (at, stream)

    def _chosen(self) -> Iterator[Sequence]:
        if self.sample is None:
            return islice(self._read(), self.limit)
        n_read = self.scan().n_read
        return sample_in_order(islice(self._read(), self.limit), n_read, self.sample, self.seed)

    def _read(self, counts: Counter[int] | None = None) -> Iterator[Sequence]:
        """Every sequence of every part, checked and named; `counts` gets how many each part has."""
        ids = UniqueIds()
        for i, (part, stem) in enumerate(zip(self.parts, self._stems, strict=True)):
            number = 0
            for number, sequence in enumerate(part.read(self.options), 1):
                check_text(sequence, self.options.max_characters)
                if counts is not None:
                    counts[i] = number
                yield replace(sequence, id=ids.name(stem, number, sequence.id))
            if number == 0:
                raise InputError(part.name, found="no sequences", expected="at least one")

    def scan(self) -> CorpusSummary:
        """Read everything once (a limit: as far as it goes), so that what is wrong comes first.

        An `InputError` here means that no model needs to be loaded. The result is kept.
        """
        if self._summary is None:
            adds = frozenset[str]() if self.annotator is None else self.annotator.adds
            annotator = None if self.annotator is None else self.annotator.version
            counts: Counter[int] = Counter()
            carried: Counter[str] = Counter()
            n_read = 0
            for sequence in islice(self._read(counts), self.limit):
                n_read += 1
                carried.update(_carries(sequence, adds))
            files = tuple(
                FileSummary(
                    name=part.name,
                    stem=stem,
                    reader=part.reader_name(),
                    sha256=part.digest(self.options, self.limit),
                    n_sequences=counts[i],
                )
                for i, (part, stem) in enumerate(zip(self.parts, self._stems, strict=True))
            )
            n_sequences = n_read
            if self.sample is not None and self.sample < n_read:
                n_sequences = self.sample
                stream = islice(self._read(), self.limit)
                carried = Counter()
                for sequence in sample_in_order(stream, n_read, self.sample, self.seed):
                    carried.update(_carries(sequence, adds))
            self._summary = CorpusSummary(
                n_sequences=n_sequences,
                n_read=n_read,
                annotations=dict(sorted(carried.items())),
                files=files,
                options=self.options,
                limit=self.limit,
                sample=self.sample,
                seed=self.seed,
                annotator=annotator,
            )
        return self._summary


def _carries(sequence: Sequence, adds: frozenset[str]) -> frozenset[str]:
    return sequence.annotations | (adds if sequence.words is None else frozenset())
