"""From annotated sentences to one sequence: spacing, segments and shifted indices."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, field, replace
from typing import TypeVar

from headscope.corpora.options import ReadOptions
from headscope.corpora.source import Source
from headscope.types import Dependencies, Frame, Mention, Sequence, Word

T = TypeVar("T")


@dataclass(slots=True)
class Sentence:
    """One sentence as its file has it; every index counts words of this sentence, from 0.

    `spaces[i]` says whether the original text has a space after word i.
    """

    name: str
    line: int
    forms: list[str]
    spaces: list[bool]
    pos: list[str] | None = None
    heads: list[int] | None = None
    relations: list[str] | None = None
    mentions: list[Mention] | None = None
    frames: list[Frame] | None = None


def sentence_units(
    sentences: SequenceABC[Sentence], source: Source, options: ReadOptions
) -> Iterator[Sequence]:
    """A document's sentences one by one, or two by two with `pair`; an odd last one stays alone."""
    size = 2 if options.pair else 1
    for at in range(0, len(sentences), size):
        group = sentences[at : at + size]
        name = "+".join(sentence.name for sentence in group if sentence.name)
        yield assemble(group, name, 1, source, options)


def document_unit(
    sentences: SequenceABC[Sentence],
    name: str,
    source: Source,
    options: ReadOptions,
    crossing: SequenceABC[Mention] = (),
    *,
    sentences_known: bool = True,
) -> Sequence:
    """A document as one sequence; with `pair` its first half is A, the odd sentence too.

    `crossing` are mentions across sentence ends, counted in words of the document.
    """
    n_first = (len(sentences) + 1) // 2 if options.pair else len(sentences)
    whole = assemble(sentences, name, n_first, source, options, crossing)
    return whole if sentences_known else replace(whole, sentences=None)


@dataclass(slots=True)
class _Segment:
    """The text of one segment as it grows."""

    index: int
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    gap: bool = False

    def add(self, form: str, space: bool) -> Word:
        if self.gap:
            self.pieces.append(" ")
            self.length += 1
        word = Word(self.index, self.length, self.length + len(form))
        self.pieces.append(form)
        self.length = word.end
        self.gap = space
        return word


def assemble(
    sentences: SequenceABC[Sentence],
    name: str,
    n_first: int,
    source: Source,
    options: ReadOptions,
    crossing: SequenceABC[Mention] = (),
) -> Sequence:
    """Sentences as one sequence, the first `n_first` of them in segment A.

    An annotation is there if every sentence has it; mentions and frames if any has.
    """
    segments = (_Segment(0), _Segment(1))
    words: list[Word] = []
    starts: list[int] = []
    for i, sentence in enumerate(sentences):
        starts.append(len(words))
        segment = segments[0 if i < n_first else 1]
        for form, space in zip(sentence.forms, sentence.spaces, strict=True):
            words.append(segment.add(form, space or options.spacing == "single"))
    pos = _all_of([sentence.pos for sentence in sentences])
    heads = _all_of(
        [
            s.heads and [head if head < 0 else head + start for head in s.heads]
            for s, start in zip(sentences, starts, strict=True)
        ]
    )
    relations = _all_of([sentence.relations for sentence in sentences])
    mentions = [
        _moved(mention, start)
        for sentence, start in zip(sentences, starts, strict=True)
        for mention in sentence.mentions or ()
    ]
    frames = [
        _shifted(frame, start)
        for sentence, start in zip(sentences, starts, strict=True)
        for frame in sentence.frames or ()
    ]
    has_mentions = bool(crossing) or any(s.mentions is not None for s in sentences)
    return Sequence(
        id=name,
        text="".join(segments[0].pieces),
        pair="".join(segments[1].pieces) if n_first < len(sentences) else None,
        words=tuple(words),
        sentences=tuple(starts),
        pos=None if pos is None else tuple(pos),
        dependencies=None
        if heads is None or relations is None
        else Dependencies(tuple(heads), tuple(relations)),
        mentions=tuple(sorted([*mentions, *crossing], key=lambda m: (m.start, m.end, m.entity)))
        if has_mentions
        else None,
        frames=tuple(frames) if any(s.frames is not None for s in sentences) else None,
        source=source.name,
        line=sentences[0].line,
    )


def _all_of(parts: SequenceABC[list[T] | None]) -> list[T] | None:
    joined: list[T] = []
    for part in parts:
        if part is None:
            return None
        joined.extend(part)
    return joined


def _moved(mention: Mention, by: int) -> Mention:
    head = None if mention.head is None else mention.head + by
    return Mention(mention.entity, mention.start + by, mention.end + by, head)


def _shifted(frame: Frame, by: int) -> Frame:
    return Frame(
        frame.name,
        (frame.target[0] + by, frame.target[1] + by),
        tuple((name, start + by, end + by) for name, start, end in frame.elements),
    )
