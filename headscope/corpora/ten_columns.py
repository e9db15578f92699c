"""Sentences of ten tab-separated columns: CoNLL-U, and CoNLL-X with a softer rule for roots.

The rows are parsed here and not by the `conllu` package because that package drops line numbers
and reports a broken row without its place; the tests hold this parser against it on real treebanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from headscope.corpora.brackets import Brackets
from headscope.corpora.frame_comments import parse_frame
from headscope.corpora.passage import Sentence
from headscope.corpora.source import Source
from headscope.corpora.trees import check_tree, span_head
from headscope.corpora.whole_numbers import whole_number
from headscope.types import Mention

Row = tuple[int, list[str]]

_N_COLUMNS = 10
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_EMPTY = re.compile(r"\d{1,9}\.\d{1,9}", re.ASCII)


@dataclass(slots=True)
class Block:
    """A sentence's lines, and whether a document starts with it."""

    line: int = 0
    comments: dict[str, str] = field(default_factory=dict)
    frames: list[tuple[int, str]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    starts_document: bool = False
    document: str = ""

    def comment(self, line: int, text: str) -> None:
        self.line = self.line or line
        key, equals, value = text[1:].partition("=")
        key, value = key.strip(), value.strip()
        if key == "newdoc" or key.startswith("newdoc "):
            self.starts_document, self.document = True, value
        elif key == "frame" and equals:
            self.frames.append((line, value))
        else:
            self.comments[key] = value


def blocks(source: Source) -> Iterator[Block]:
    """The file's sentences. A block of mere remarks, a licence say, is no sentence."""
    block = Block()
    for number, line in source.lines():
        if line.startswith("#"):
            block.comment(number, line)
        elif line.strip(" "):
            cells = line.split("\t")
            if len(cells) != _N_COLUMNS:
                raise source.error(
                    f"{len(cells)} columns", f"{_N_COLUMNS} columns separated by tabs", number
                )
            block.line = block.line or number
            block.rows.append((number, cells))
        else:
            if _is_sentence(block, source):
                yield block
            block = Block()
    if _is_sentence(block, source):
        yield block


def _is_sentence(block: Block, source: Source) -> bool:
    claims = block.starts_document or block.frames or {"sent_id", "text"} & block.comments.keys()
    if claims and not block.rows:
        raise source.error("a sentence without words", "at least one word", block.line)
    return bool(block.rows)


@dataclass(slots=True)
class SentenceParser:
    """Turns blocks into sentences; remembers what the file says of its `Entity` labels."""

    source: Source
    one_root: bool = True
    entity_fields: tuple[str, ...] | None = None

    def parse(self, block: Block) -> Sentence:
        if "global.Entity" in block.comments:
            self.entity_fields = tuple(block.comments["global.Entity"].split("-"))
        words, nodes, surfaces = self._sort(block.rows)
        forms = [cells[1] for _, cells in words]
        spaces = ["SpaceAfter=No" not in cells[9].split("|") for _, cells in words]
        for first, last, surface, space in surfaces:
            _contract(forms, spaces, first, last, surface, space)
        heads = self._heads(words)
        sentence = Sentence(
            name=block.comments.get("sent_id", ""),
            line=block.line,
            forms=forms,
            spaces=spaces,
            pos=_tags(words),
            heads=heads,
            relations=None if heads is None else [cells[7] for _, cells in words],
            mentions=self._mentions(nodes, heads),
        )
        if block.frames:
            sentence.frames = [
                parse_frame(text, len(words), self.source, line) for line, text in block.frames
            ]
        return sentence

    def _sort(
        self, rows: list[Row]
    ) -> tuple[list[Row], list[tuple[Row, int | None]], list[tuple[int, int, str, bool]]]:
        """Words; all nodes with their word (None: an empty node); and multi-word ranges."""
        words: list[Row] = []
        nodes: list[tuple[Row, int | None]] = []
        surfaces: list[tuple[int, int, str, bool]] = []
        for line, cells in rows:
            name = cells[0]
            if (number := whole_number(name)) is not None:
                if number != len(words) + 1:
                    raise self.source.error(f"word id {name}", f"{len(words) + 1}", line)
                if not cells[1]:
                    raise self.source.error("an empty form", "a word in column 2", line)
                nodes.append(((line, cells), len(words)))
                words.append((line, cells))
            elif match := _RANGE.fullmatch(name):
                first, last = int(match[1]), int(match[2])
                n_words = sum(1 for _, other in rows if whole_number(other[0]))
                if first != len(words) + 1 or not first < last <= n_words:
                    raise self.source.error(f"range {name}", "a range of the words after it", line)
                space = "SpaceAfter=No" not in cells[9].split("|")
                surfaces.append((first - 1, last, cells[1], space))
            elif _EMPTY.fullmatch(name):
                nodes.append(((line, cells), None))
            else:
                raise self.source.error(f"id {name!r}", "ids such as 3, 3-4 or 3.1", line)
        if not words:
            raise self.source.error("a sentence without words", "at least one word", rows[0][0])
        return words, nodes, surfaces

    def _heads(self, words: list[Row]) -> list[int] | None:
        if all(cells[6] == "_" for _, cells in words):
            return None
        heads: list[int] = []
        for line, cells in words:
            head = whole_number(cells[6])
            if head is None or head > len(words):
                expected = f"a head from 0 to {len(words)}"
                raise self.source.error(f"head {cells[6][:20]}", expected, line)
            heads.append(head - 1)
        lines = [line for line, _ in words]
        check_tree(heads, lines, self.source, one_root=self.one_root)
        return heads

    def _mentions(
        self, nodes: list[tuple[Row, int | None]], heads: list[int] | None
    ) -> list[Mention] | None:
        """Mentions of this sentence; CorefUD does not let one cross a sentence's end."""
        labels = [(i, line, _entity(cells)) for i, ((line, cells), _) in enumerate(nodes)]
        if self.entity_fields is None and not any(label for _, _, label in labels):
            return None
        brackets = Brackets(self.source, self.entity_fields or ("eid",), scope="sentence")
        for position, line, label in labels:
            if label:
                brackets.read(label, position, line)
        words = [word for _, word in nodes]
        mentions: list[Mention] = []
        for span in brackets.finish():
            mention = span.mention(words, self.source)
            if mention is not None:
                mentions.append(_with_head(mention, heads))
        return mentions


def _entity(cells: list[str]) -> str:
    for item in cells[9].split("|"):
        if item.startswith("Entity="):
            return item[len("Entity=") :]
    return ""


def _with_head(mention: Mention, heads: list[int] | None) -> Mention:
    if mention.head is not None or heads is None:
        return mention
    head = span_head(heads, mention.start, mention.end)
    return Mention(mention.entity, mention.start, mention.end, head)


def _tags(words: list[Row]) -> list[str] | None:
    """Universal tags, else the treebank's own; None where the file has neither."""
    for column in (3, 4):
        if any(cells[column] != "_" for _, cells in words):
            return [cells[column] for _, cells in words]
    return None


def _contract(
    forms: list[str], spaces: list[bool], first: int, last: int, surface: str, space: bool
) -> None:
    """Spacing inside a multi-word token: none if its parts spell it (*don't*), else as words."""
    spelled = "".join(forms[first:last]) == surface
    for i in range(first, last):
        spaces[i] = not spelled
    spaces[last - 1] = space
