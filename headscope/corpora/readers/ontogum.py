"""Coreference documents in OntoGUM's three columns."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpora.bracketed_documents import Document
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.types import Sequence

_BEGIN = "# begin document"


@READERS.register("ontogum")
def read_ontogum(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """`index`, `word`, `coreference` between `# begin document NAME` and `# end document`.

    The release has no sentence ends, so its sequences carry no sentences; blank lines, where a
    file has them, are taken for sentence ends. A row without a word and without brackets stands for
    nothing (the release has one) and is passed over.
    """
    document: Document | None = None
    sentences_known = False
    for number, line in source.lines():
        if line.startswith(_BEGIN):
            if document is not None:
                raise source.error("a document inside a document", "'# end document'", number)
            document = Document(line[len(_BEGIN) :].strip(), number, source)
            sentences_known = False
        elif line.startswith("# end document"):
            if document is None:
                raise source.error("'# end document'", f"{_BEGIN!r} before it", number)
            yield from document.sequences(options, sentences_known=sentences_known)
            document = None
        elif not line.strip():
            if document is not None and document.sentences:
                document.end_sentence()
                sentences_known = True
        else:
            cells = line.split("\t")
            if document is None:
                raise source.error("a word outside a document", repr(_BEGIN), number)
            if len(cells) != 3:
                raise source.error(f"{len(cells)} columns", "3 columns separated by tabs", number)
            if cells[1] or cells[2] not in ("", "_", "-"):
                document.add(number, cells[1], None, cells[2])
    if document is not None:
        raise source.error("a document that does not end", "'# end document'", document.line)
