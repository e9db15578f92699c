"""Words, tags, dependencies and sentences for plain text, by a spaCy pipeline (an extra)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from headscope.errors import UsageError
from headscope.types import Dependencies, Sequence, Word

_BATCH = 64


@dataclass(slots=True)
class SpacyAnnotator:
    """`spacy:NAME`: annotates the sequences that have no words yet and leaves the others alone.

    Tokens of white space are no words; a word attached to one hangs on that token's head. Labels
    are the pipeline's (English: ClearNLP's `dobj`, not UD's `obj`).
    """

    name: str
    _pipeline: Any = field(default=None, repr=False)
    _adds: frozenset[str] | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, spec: str) -> SpacyAnnotator:
        kind, _, name = spec.partition(":")
        if kind != "spacy" or not name:
            raise UsageError(f"unknown annotator {spec!r}; expected spacy:NAME")
        return cls(name)

    def __getstate__(self) -> dict[str, Any]:
        # A worker loads the pipeline itself rather than receive its weights.
        return {"name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.name, self._pipeline, self._adds = state["name"], None, None

    @property
    def pipeline(self) -> Any:
        if self._pipeline is None:
            self._pipeline = _loaded(self.name)
        return self._pipeline

    @property
    def version(self) -> str:
        """Pipeline and version, for the fingerprint: another version annotates differently."""
        meta = self.pipeline.meta
        return f"spacy:{meta['lang']}_{meta['name']}=={meta['version']}"

    @property
    def adds(self) -> frozenset[str]:
        """What this pipeline can add, found out on one sentence."""
        if self._adds is None:
            self._adds = _annotated(
                Sequence("", "A test."), self.pipeline("A test."), None
            ).annotations
        return self._adds

    def annotate(self, sequences: Iterable[Sequence]) -> Iterator[Sequence]:
        """The same sequences, in order."""
        batch: list[Sequence] = []
        for sequence in sequences:
            batch.append(sequence)
            if len(batch) == _BATCH:
                yield from self._annotate(batch)
                batch = []
        yield from self._annotate(batch)

    def _annotate(self, batch: list[Sequence]) -> Iterator[Sequence]:
        texts = [
            text
            for sequence in batch
            if sequence.words is None
            for text in (sequence.text, sequence.pair)
            if text is not None
        ]
        docs = iter(self.pipeline.pipe(texts, batch_size=_BATCH))
        for sequence in batch:
            if sequence.words is not None:
                yield sequence
            else:
                first = next(docs)
                yield _annotated(sequence, first, None if sequence.pair is None else next(docs))


@functools.cache
def _loaded(name: str) -> Any:
    """A pipeline, loaded once however many corpora it annotates."""
    try:
        import spacy
    except ImportError:
        raise UsageError(
            f"spacy:{name} needs spaCy: pip install 'headscope[spacy]', "
            f"then python -m spacy download {name}"
        ) from None
    try:
        return spacy.load(name)
    except OSError:
        installed = ", ".join(f"spacy:{one}" for one in spacy.util.get_installed_models())
        raise UsageError(
            f"spaCy has no pipeline {name!r}: python -m spacy download {name}, or choose another "
            f"with --annotate (installed: {installed or 'none'})"
        ) from None


def _annotated(sequence: Sequence, first: Any, second: Any) -> Sequence:
    words: list[Word] = []
    starts: list[int] = []
    tags: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    docs = [first] if second is None else [first, second]
    for segment, doc in enumerate(docs):
        tokens = [token for token in doc if not token.is_space]
        place = {token.i: len(words) + n for n, token in enumerate(tokens)}
        before = None
        for token in tokens:
            if doc.has_annotation("SENT_START") and token.sent.start != before:
                before = token.sent.start
                starts.append(len(words))
            words.append(Word(segment, token.idx, token.idx + len(token.text)))
            tags.append(token.pos_)
            relations.append(token.dep_)
            heads.append(_head(token, place))
    tagged = all(doc.has_annotation("POS") for doc in docs)
    parsed = all(doc.has_annotation("DEP") for doc in docs)
    split = all(doc.has_annotation("SENT_START") for doc in docs)
    return replace(
        sequence,
        words=tuple(words),
        sentences=tuple(starts) if split else None,
        pos=tuple(tags) if tagged else None,
        dependencies=Dependencies(tuple(heads), tuple(relations)) if parsed else None,
    )


def _head(token: Any, place: dict[int, int]) -> int:
    head = token
    while head.head.i != head.i:
        head = head.head
        if head.i in place:
            return place[head.i]
    return -1
