"""Frames as comment lines of a CoNLL-U sentence: `# frame = Giving 5 Donor=1-2 Recipient=6-8`."""

from __future__ import annotations

import re

from headscope.corpora.source import Source
from headscope.types import Frame

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_FORM = "Name target Element=words …, words as 3 or 3-5"


def parse_frame(value: str, n_words: int, source: Source, line: int) -> Frame:
    """The frame's name, its target, then its core elements, each by word ids of the sentence.

    >>> from pathlib import Path
    >>> parse_frame("Giving 2 Donor=1 Theme=3-4", 4, Source(Path("x")), 1)
    Frame(name='Giving', target=(1, 2), elements=(('Donor', 0, 1), ('Theme', 2, 4)))
    """
    fields = value.split()
    if len(fields) < 2:
        raise source.error(f"the frame {value!r}", _FORM, line)
    name, target, *rest = fields
    elements: list[tuple[str, int, int]] = []
    for element in rest:
        label, equals, words = element.rpartition("=")
        if not equals or not label:
            raise source.error(f"the frame element {element!r}", _FORM, line)
        elements.append((label, *_span(words, n_words, source, line)))
    return Frame(name, _span(target, n_words, source, line), tuple(elements))


def _span(words: str, n_words: int, source: Source, line: int) -> tuple[int, int]:
    match = _RANGE.fullmatch(words)
    if match is None:
        raise source.error(f"the words {words!r} in a frame", _FORM, line)
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last <= n_words:
        raise source.error(f"the words {words!r} in a frame", f"ids from 1 to {n_words}", line)
    return first - 1, last
