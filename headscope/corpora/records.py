"""A JSON record as a sequence: plain text, a pair, or words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.corpora.columns import Columns
from headscope.corpora.options import ReadOptions
from headscope.corpora.source import Source
from headscope.types import Sequence, Word


def record_sequence(
    record: Mapping[str, Any], options: ReadOptions, source: Source, line: int, key: str = ""
) -> Sequence:
    """`text`, `a` with `b`, `words`, or the columns the options name; `id` (or the key) names it.

    >>> from pathlib import Path
    >>> record_sequence({"words": ["Hi", "!"]}, ReadOptions(), Source(Path("x")), 1).text
    'Hi !'
    """
    name = record.get(options.id_column or "id", key)
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise source.error(f"the id {name!r}", "an id that is text or a whole number", line)
    if "words" in record and options.text_column is None:
        text, words = _joined(record["words"], source, line)
        return Sequence(str(name), text, words=words, source=source.name, line=line)
    columns = Columns.choose(record.keys(), options, source, line)
    found = columns.sequence(record, source, line)
    return Sequence(str(name), found.text, pair=found.pair, source=source.name, line=line)


def _joined(forms: Any, source: Source, line: int) -> tuple[str, tuple[Word, ...]]:
    good = isinstance(forms, list) and all(isinstance(form, str) and form for form in forms)
    if not good:
        raise source.error("'words' of another kind", "'words' as a list of non-empty words", line)
    words: list[Word] = []
    at = 0
    for form in forms:
        words.append(Word(0, at, at + len(form)))
        at += len(form) + 1
    return " ".join(forms), tuple(words)
