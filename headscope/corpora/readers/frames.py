"""FrameNet annotation sets as JSONL with character spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.corpora.character_spans import white_space_words, words_of
from headscope.corpora.json_values import parse_object
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.types import Frame, Sequence, Word


@READERS.register("frames")
def read_frames(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """`text`, `frame`, `target` (spans) and `fes` (`name`, `span`, `core`), one frame a line.

    Every line is a sequence of its own, also where lines share their text. Words are separated by
    white space; a span means every word it touches. Only elements of type `Core` are kept. Of a
    target in several pieces (*take … off*) the first piece, its head in English verbs, counts.
    """
    for number, line in source.lines():
        if not line.strip():
            continue
        record = parse_object(line, source, number)
        for key, kind in (("text", str), ("frame", str), ("target", list), ("fes", list)):
            if not isinstance(record.get(key), kind):
                raise source.error(f"no {key!r}", f"{key!r} as {kind.__name__}", number)
        text = record["text"].rstrip()
        words = white_space_words(text)
        frame = _frame(record, text, words, source, number)
        name = str(record.get("id", ""))
        yield Sequence(name, text, words=words, frames=(frame,), source=source.name, line=number)


def _frame(
    record: dict[str, Any], text: str, words: tuple[Word, ...], source: Source, line: int
) -> Frame:
    if not record["target"]:
        raise source.error("no target span", "at least one", line)
    target = _words(record["target"][0], text, words, source, line)
    elements: list[tuple[str, int, int]] = []
    for element in record["fes"]:
        if not isinstance(element, dict) or not isinstance(element.get("name"), str):
            raise source.error("a frame element without a name", "name, span and core", line)
        if element.get("core") == "Core":
            span = _words(element.get("span"), text, words, source, line)
            elements.append((element["name"], *span))
    return Frame(record["frame"], target, tuple(elements))


def _words(
    span: Any, text: str, words: tuple[Word, ...], source: Source, line: int
) -> tuple[int, int]:
    good = isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)
    found = words_of(words, *span) if good and 0 <= span[0] < span[1] <= len(text) + 1 else None
    if found is None:
        expected = f"[from, to] inside the {len(text)} characters of the text"
        raise source.error(f"the span {span}", expected, line)
    return found
