"""What a corpus is made of: files, sequences made in Python, data sets of the hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from headscope.corpora.checks import check_annotations
from headscope.corpora.detection import detect_reader
from headscope.corpora.hub import HubPart
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.errors import UsageError
from headscope.types import Sequence

#: What `Corpus.of` takes: a text, a pair of texts, or a sequence with its annotations.
Item = str | tuple[str, str] | Sequence


class Part(Protocol):
    """One source of sequences; `digest` stands for its content."""

    @property
    def name(self) -> str: ...

    @property
    def stem(self) -> str: ...

    def reader_name(self) -> str: ...

    def read(self, options: ReadOptions) -> Iterator[Sequence]: ...

    def digest(self, options: ReadOptions, limit: int | None) -> str: ...


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file and the reader for it, the one named or the one that fits."""

    source: Source
    reader: str | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def stem(self) -> str:
        return self.source.stem

    def reader_name(self) -> str:
        return self.reader or detect_reader(self.source)

    def read(self, options: ReadOptions) -> Iterator[Sequence]:
        return READERS[self.reader_name()](self.source, options)

    def digest(self, options: ReadOptions, limit: int | None) -> str:
        return self.source.sha256()


@dataclass(frozen=True, slots=True)
class ListPart:
    """Sequences given from Python."""

    items: tuple[Sequence, ...]
    name: str = "<list>"
    stem: str = "list"

    @classmethod
    def of(cls, items: Iterable[Item]) -> ListPart:
        if isinstance(items, str):
            raise UsageError("a corpus is made of a list of texts, not of one text")
        return cls(tuple(_sequence(item, n) for n, item in enumerate(items, 1)))

    def reader_name(self) -> str:
        return "list"

    def read(self, options: ReadOptions) -> Iterator[Sequence]:
        return iter(self.items)

    def digest(self, options: ReadOptions, limit: int | None) -> str:
        digest = hashlib.sha256()
        for item in self.items:
            digest.update(repr(item).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _sequence(item: Item, number: int) -> Sequence:
    match item:
        case str():
            return Sequence("", item, source="<list>", line=number)
        case (str() as a, str() as b):
            return Sequence("", a, pair=b, source="<list>", line=number)
        case Sequence():
            check_annotations(item)
            return item if item.source else replace(item, source="<list>", line=number)
    raise UsageError(
        f"item {number} is a {type(item).__name__}; expected a text, a pair (a, b) or a Sequence"
    )


def part_of(source: str | Path, reader: str | None) -> Part:
    """A path, a URL, or `hf:NAME[@CONFIG][:SPLIT]` for a data set of the Hugging Face hub."""
    if reader is not None:
        READERS[reader]  # an unknown name is refused before any work
    if isinstance(source, str) and source.startswith("hf:"):
        return HubPart.parse(source)
    return FilePart(Source.of(source), reader)
