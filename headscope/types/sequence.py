"""One input of the model with whatever annotation its corpus carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Word(NamedTuple):
    """A word by its characters: `text[start:end]` of segment A (0) or B (1)."""

    segment: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Dependencies:
    """One tree per sentence over the words of a sequence.

    `heads[i]` is the index of word i's head, -1 for a root, and -2 where the head was lost because
    the sequence was cut: such a word has a gold head, but not here, and no measure may count it.
    `relations[i]` is its label as the file has it. Several sentences in one sequence are several
    trees.
    """

    heads: tuple[int, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    """Words `start` up to and without `end` that refer to `entity`; `head` is its head word.

    `head` is None where the corpus does not say; whoever needs it applies a stated rule.
    """

    entity: str
    start: int
    end: int
    head: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame-evoking target and its core elements, as spans of words [start, end)."""

    name: str
    target: tuple[int, int]
    elements: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Text (one segment or two) with a stable id and its annotations, None where it has none.

    `words` of both segments stand in one list, A's before B's; every other annotation counts in
    words. `sentences` holds the index of each sentence's first word.
    """

    id: str
    text: str
    pair: str | None = None
    words: tuple[Word, ...] | None = None
    sentences: tuple[int, ...] | None = None
    pos: tuple[str, ...] | None = None
    dependencies: Dependencies | None = None
    mentions: tuple[Mention, ...] | None = None
    frames: tuple[Frame, ...] | None = None
    source: str = ""
    line: int = 0

    def segment_text(self, segment: int) -> str:
        return self.text if segment == 0 else (self.pair or "")

    def word_text(self, index: int) -> str:
        if self.words is None:
            raise ValueError(f"sequence {self.id} has no words")
        word = self.words[index]
        return self.segment_text(word.segment)[word.start : word.end]

    @property
    def annotations(self) -> frozenset[str]:
        """What this sequence carries, in the words a measure uses to say what it needs.

        >>> sorted(Sequence("s", "Hi there.", pair="Hello.").annotations)
        ['pair']
        """
        names = ("pair", "words", "sentences", "pos", "dependencies", "mentions", "frames")
        return frozenset(name for name in names if getattr(self, name) is not None)
