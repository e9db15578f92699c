"""Treebanks in ten columns: CoNLL-U and CoNLL-X."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpora.options import ReadOptions
from headscope.corpora.passage import Sentence, document_unit, sentence_units
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.corpora.ten_columns import SentenceParser, blocks
from headscope.types import Sequence


@READERS.register("conllu")
def read_conllu(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """Universal Dependencies, with coreference and frames where the file has them.

    Words are the syntactic words: of a multi-word token (`4-5 zum`) its parts, of empty nodes
    (`8.1`) nothing. Coreference is `Entity=` of the last column as `# global.Entity` declares it;
    a mention whose label gives no head has the word whose dependency head lies outside it.
    """
    return _read(source, options, one_root=True)


@READERS.register("conllx")
def read_conllx(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """The older format of Stanford and CoNLL 2006–2009 trees; a sentence may have several roots."""
    return _read(source, options, one_root=False)


def _read(source: Source, options: ReadOptions, *, one_root: bool) -> Iterator[Sequence]:
    parser = SentenceParser(source, one_root=one_root)
    by_document = options.unit == "document"
    name = ""
    gathered: list[Sentence] = []
    for block in blocks(source):
        sentence = parser.parse(block)
        if block.starts_document:
            if gathered:
                yield from _units(gathered, name, source, options)
            name, gathered = block.document, []
        elif by_document and not gathered:
            raise source.error(
                "a sentence outside any document", "a comment '# newdoc' before it", block.line
            )
        gathered.append(sentence)
        # Sentences need not wait for their document's end, which may be the file's.
        if not by_document and len(gathered) == (2 if options.pair else 1):
            yield from sentence_units(gathered, source, options)
            gathered = []
    if gathered:
        yield from _units(gathered, name, source, options)


def _units(
    sentences: list[Sentence], name: str, source: Source, options: ReadOptions
) -> Iterator[Sequence]:
    if options.unit == "document":
        yield document_unit(sentences, name, source, options)
    else:
        yield from sentence_units(sentences, source, options)
