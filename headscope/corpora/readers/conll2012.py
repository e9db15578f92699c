"""Coreference documents as OntoNotes and LitBank write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headscope.corpora.bracketed_documents import Document
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.types import Sequence

_BEGIN = re.compile(r"#begin document \((?P<name>.*)\); part (?P<part>\d{1,9})", re.ASCII)
_MIN_COLUMNS = 12


@READERS.register("conll2012")
def read_conll2012(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """CoNLL-2012: a word a line, twelve columns or more, the last one coreference.

    Columns are separated by tabs, or by runs of spaces; all rows of a sentence have equally many.
    A document's id is its name and part. The format tells no head words: `head` is None.
    """
    document: Document | None = None
    n_columns: int | None = None
    for number, line in source.lines():
        if line.startswith("#begin"):
            if document is not None:
                raise source.error("a document inside a document", "'#end document'", number)
            document = Document(_name(line, number, source), number, source)
            n_columns = None
        elif line.startswith("#end"):
            if document is None:
                raise source.error("'#end document'", "'#begin document' before it", number)
            yield from document.sequences(options, sentences_known=True)
            document = None
        elif not line.strip():
            n_columns = None
            if document is not None:
                document.end_sentence()
        elif line.startswith("#") and "\t" not in line and document is None:
            continue
        else:
            if document is None:
                raise source.error("a word outside a document", "'#begin document'", number)
            cells = line.split("\t") if "\t" in line else line.split()
            expected = max(_MIN_COLUMNS, n_columns or 0)
            if len(cells) < _MIN_COLUMNS or n_columns not in (None, len(cells)):
                more = "" if n_columns else " or more"
                raise source.error(f"{len(cells)} columns", f"{expected}{more}", number)
            n_columns = len(cells)
            tag = None if cells[4] in ("_", "-", "") else cells[4]
            document.add(number, cells[3], tag, cells[-1])
    if document is not None:
        raise source.error("a document that does not end", "'#end document'", document.line)


def _name(line: str, number: int, source: Source) -> str:
    match = _BEGIN.match(line)
    if match is None:
        raise source.error(repr(line), "'#begin document (name); part 000'", number)
    return f"{match['name']}/{int(match['part'])}"
