"""Plain text, one sequence a line."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.types import Sequence


@READERS.register("text")
def read_text(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """One sequence a line, blank lines skipped, white space at both ends dropped.

    With `pair=True` two consecutive lines that are not blank are segments A and B; a line left
    over at the end is an error, because every pair before it may then be shifted by one.
    """
    waiting: tuple[int, str] | None = None
    for number, line in source.lines():
        text = line.strip()
        if not text:
            continue
        if not options.pair:
            yield Sequence("", text, source=source.name, line=number)
        elif waiting is None:
            waiting = (number, text)
        else:
            first, a = waiting
            waiting = None
            yield Sequence("", a, pair=text, source=source.name, line=first)
    if waiting is not None:
        raise source.error(
            "an odd number of lines that are not blank", "a second line for the pair", waiting[0]
        )
