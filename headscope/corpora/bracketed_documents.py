"""Documents of words with a bracket column: what CoNLL-2012 and OntoGUM have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headscope.corpora.brackets import Brackets
from headscope.corpora.options import ReadOptions
from headscope.corpora.passage import Sentence, document_unit, sentence_units
from headscope.corpora.source import Source
from headscope.types import Mention, Sequence


@dataclass(slots=True)
class Document:
    """A document as it is read: `add` its words, `end_sentence` at each end, then `sequences`."""

    name: str
    line: int
    source: Source
    sentences: list[Sentence] = field(default_factory=list)
    brackets: Brackets = field(init=False)
    _open: Sentence | None = None
    _n_words: int = 0

    def __post_init__(self) -> None:
        self.brackets = Brackets(self.source)

    def add(self, line: int, form: str, tag: str | None, coreference: str) -> None:
        """A word; `coreference` holds its brackets, or a dash, an underscore or nothing."""
        if not form:
            raise self.source.error("an empty form", "a word", line)
        if self._open is None:
            self._open = Sentence("", line, [], [], pos=[])
            self.sentences.append(self._open)
        self._open.forms.append(form)
        self._open.spaces.append(True)
        if tag is None:
            self._open.pos = None
        elif self._open.pos is not None:
            self._open.pos.append(tag)
        if coreference not in ("", "-", "_"):
            self.brackets.read(coreference, self._n_words, line)
        self._n_words += 1

    def end_sentence(self) -> None:
        self._open = None

    def sequences(self, options: ReadOptions, *, sentences_known: bool) -> Iterator[Sequence]:
        """The document, or its sentences; a mention across a sentence's end needs the document."""
        if not self.sentences:
            raise self.source.error("a document without words", "at least one word", self.line)
        crossing = self._share_mentions()
        if options.unit != "sentence":
            yield document_unit(
                self.sentences,
                self.name,
                self.source,
                options,
                crossing,
                sentences_known=sentences_known,
            )
        elif sentences_known:
            for n, sentence in enumerate(self.sentences, 1):
                sentence.name = f"{self.name}-{n}"
            yield from sentence_units(self.sentences, self.source, options)
        else:
            raise self.source.error(
                "a document without sentence ends", "blank lines, or unit=document", self.line
            )

    def _share_mentions(self) -> list[Mention]:
        """Give every sentence its own mentions; return those that belong to no single one."""
        places = [
            (sentence, local) for sentence in self.sentences for local in range(len(sentence.forms))
        ]
        for sentence in self.sentences:
            sentence.mentions = []
        crossing: list[Mention] = []
        for span in self.brackets.finish():
            (first, last) = span.parts[0]
            sentence, start = places[first]
            if places[last][0] is sentence and sentence.mentions is not None:
                sentence.mentions.append(Mention(span.entity, start, start + last - first + 1))
            else:
                crossing.append(Mention(span.entity, first, last + 1))
        return crossing
