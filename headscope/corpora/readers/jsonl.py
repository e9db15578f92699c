"""One JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpora.json_values import parse_object
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.records import record_sequence
from headscope.corpora.source import Source
from headscope.types import Sequence


@READERS.register("jsonl")
def read_jsonl(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """`{"text": …}`, `{"a": …, "b": …}` or `{"words": […]}` on each line, optionally with `id`."""
    for number, line in source.lines():
        if line.strip():
            record = parse_object(line, source, number)
            yield record_sequence(record, options, source, number)
