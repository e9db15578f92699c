"""Coreference written as brackets: `(3`, `3)`, `(3)`, and CorefUD's richer labels."""

from __future__ import annotations

import re
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, field

from headscope.corpora.source import Source
from headscope.corpora.whole_numbers import whole_number
from headscope.types import Mention

_PIECE = re.compile(r"\((?P<opened>[^()|]+)(?P<single>\))?|(?P<closed>[^()|]+)\)")
_PART = re.compile(r"(?P<entity>.+)\[(?P<number>\d{1,9})/(?P<total>\d{1,9})\]", re.ASCII)


@dataclass(slots=True)
class Span:
    """A mention by the positions its brackets cover; a discontinuous one has several parts."""

    entity: str
    line: int
    head_number: int | None = None
    parts: list[tuple[int, int]] = field(default_factory=list)

    def mention(self, words: SequenceABC[int | None], source: Source) -> Mention | None:
        """As words; `words[position]` is None where a position is no word (an empty node).

        A discontinuous mention is represented by the part its head is in, or by its first part. A
        mention of empty nodes alone has no words and is no mention here.
        """
        positions = [p for first, last in self.parts for p in range(first, last + 1)]
        head: int | None = None
        if self.head_number is not None:
            if not 1 <= self.head_number <= len(positions):
                raise source.error(
                    f"head {self.head_number} of a mention of {len(positions)} words",
                    f"a head from 1 to {len(positions)}",
                    self.line,
                )
            head = words[positions[self.head_number - 1]]
        covered = [
            [w for w in words[first : last + 1] if w is not None] for first, last in self.parts
        ]
        chosen = next((part for part in covered if head in part), None)
        chosen = chosen or next((part for part in covered if part), None)
        if not chosen:
            return None
        return Mention(self.entity, chosen[0], chosen[-1] + 1, head)


class Brackets:
    """Reads one cell after the other and pairs the brackets.

    `fields` names the dash-separated parts of an opening label (`# global.Entity`); the first is
    the entity, `head` the number of the head word inside the mention.

    >>> from pathlib import Path
    >>> brackets = Brackets(Source(Path("x")))
    >>> for position, cell in enumerate(["(3", "(4)", "3)"]):
    ...     brackets.read(cell, position, line=position + 1)
    >>> [(span.entity, span.parts) for span in brackets.finish()]
    [('4', [(1, 1)]), ('3', [(0, 2)])]
    """

    def __init__(
        self, source: Source, fields: SequenceABC[str] = ("eid",), scope: str = "document"
    ) -> None:
        self._source, self._scope = source, scope
        self._head = fields.index("head") if "head" in fields else None
        self._open: dict[str, list[tuple[int, Span]]] = {}
        self._partial: dict[str, Span] = {}
        self._done: list[Span] = []

    def read(self, cell: str, position: int, line: int) -> None:
        """One cell: any number of opening, closing and single-word brackets."""
        at = 0
        # Matching on from the last piece, not searching, keeps a hostile cell linear.
        while piece := _PIECE.match(cell, at + 1 if cell[at : at + 1] == "|" else at):
            at = piece.end()
            if piece["opened"] is not None:
                label = piece["opened"].split("-")
                self._start(label, position, line)
                if piece["single"]:
                    self._end(label[0], position, line)
            else:
                self._end(piece["closed"].split("-")[0], position, line)
        if cell[at:].strip("|"):
            raise self._source.error(
                f"coreference {cell[:40]!r}", "brackets such as (3, 3) or (3)", line
            )

    def _start(self, label: SequenceABC[str], position: int, line: int) -> None:
        key = label[0]
        part = _PART.fullmatch(key)
        span = Span(key if part is None else part["entity"], line, self._head_number(label, line))
        if part is not None and int(part["number"]) > 1:
            unfinished = self._partial.get(part["entity"])
            if unfinished is None:
                raise self._source.error(
                    f"part {key} of a mention", "its first part before it", line
                )
            span = unfinished
        self._open.setdefault(key, []).append((position, span))

    def _head_number(self, label: SequenceABC[str], line: int) -> int | None:
        if self._head is None or self._head >= len(label) or not label[self._head]:
            return None
        value = label[self._head]
        number = whole_number(value)
        if number is None:
            raise self._source.error(f"the head {value[:20]!r} of a mention", "a number", line)
        return number

    def _end(self, key: str, position: int, line: int) -> None:
        stack = self._open.get(key)
        if not stack:
            raise self._source.error(
                f"{key}) closing a mention that is not open", f"({key} before it", line
            )
        first, span = stack.pop()
        if not stack:
            del self._open[key]
        span.parts.append((first, position))
        part = _PART.fullmatch(key)
        if part is None:
            self._done.append(span)
        elif part["number"] == part["total"]:
            self._partial.pop(part["entity"], None)
            self._done.append(span)
        else:
            self._partial[part["entity"]] = span

    def finish(self) -> list[Span]:
        """All mentions; one still open is an error at the line that opened it."""
        for key, stack in self._open.items():
            raise self._source.error(
                f"({key} that is never closed",
                f"{key}) in the same {self._scope}",
                stack[-1][1].line,
            )
        for entity, span in self._partial.items():
            raise self._source.error(
                f"({entity}[…] without its last part", "all parts of the mention", span.line
            )
        return self._done
