"""A JSON list of records, or an object of records by their ids."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpora.json_values import members
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.records import record_sequence
from headscope.corpora.source import Source
from headscope.types import Sequence


@READERS.register("json")
def read_json(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """The records of `jsonl` in one JSON value; it is held in memory, so large files want JSONL.

    The key of an object's member is its sequence's id if the record has none of its own and the
    key is more than a running number.
    """
    for line, key, record in members(source.text(), source):
        if not isinstance(record, dict):
            raise source.error(f"a {type(record).__name__}", "a record (a JSON object)", line)
        name = "" if key is None or key.isdecimal() else key
        yield record_sequence(record, options, source, line, key=name)
