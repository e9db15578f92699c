"""What every sequence must satisfy, whoever made it."""

from __future__ import annotations

from itertools import pairwise

from headscope.errors import InputError
from headscope.types import Sequence


def check_text(sequence: Sequence, max_characters: int) -> None:
    """Text that is there, fits, and can be encoded; cheap enough for every sequence."""
    n_characters = len(sequence.text) + len(sequence.pair or "")
    if n_characters > max_characters:
        raise _error(
            sequence,
            f"a sequence of {n_characters:,} characters",
            f"at most {max_characters:,} (max_characters)",
        )
    for name, text in (("text", sequence.text), ("pair", sequence.pair)):
        if text is None:
            continue
        if not text or text.isspace():
            what = "an empty text" if name == "text" else "an empty second segment"
            raise _error(sequence, what, "at least one character that is not white space")
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                found = f"half a character (surrogate) at character {error.start}"
                raise _error(sequence, found, "valid Unicode") from None


def check_annotations(sequence: Sequence) -> None:
    """Annotations whose every index is valid; for sequences that no reader made.

    >>> from headscope.types import Word
    >>> check_annotations(Sequence("s", "Hi", words=(Word(0, 0, 9),), source="x", line=1))
    Traceback (most recent call last):
    headscope.errors.InputError: x:1: found word 0 at 0-9 of segment 0; expected words in order, \
inside a text of 2 characters
    """
    words = sequence.words
    if words is None:
        names = sequence.annotations - {"pair"}
        if names:
            raise _error(sequence, f"{min(names)} without words", "words to count in")
        return
    before = (0, 0)
    for i, word in enumerate(words):
        length = len(sequence.segment_text(word.segment))
        inside = word.segment == 0 or (word.segment == 1 and sequence.pair is not None)
        if not (
            inside and before <= (word.segment, word.start) and word.start < word.end <= length
        ):
            where = f"word {i} at {word.start}-{word.end} of segment {word.segment}"
            expected = f"words in order, inside a text of {length} characters"
            raise _error(sequence, where, expected)
        before = (word.segment, word.end)
    _check_lengths(sequence, len(words))
    _check_spans(sequence, len(words))


def _check_lengths(sequence: Sequence, n_words: int) -> None:
    lengths = {"pos": sequence.pos}
    if sequence.dependencies is not None:
        tree = sequence.dependencies
        lengths["relations"] = tree.relations
        if len(tree.heads) != n_words or not all(-2 <= head < n_words for head in tree.heads):
            raise _error(sequence, "heads out of place", f"{n_words} heads below {n_words}")
    for name, values in lengths.items():
        if values is not None and len(values) != n_words:
            raise _error(sequence, f"{len(values)} {name}", f"{n_words}, one for each word")
    starts = sequence.sentences
    if starts is not None:
        increasing = all(a < b for a, b in pairwise(starts))
        good = increasing and (
            starts[:1] == (0,) and starts[-1] < n_words if n_words else not starts
        )
        if not good:
            raise _error(sequence, f"sentences {starts}", "first words, from 0, increasing")


def _check_spans(sequence: Sequence, n_words: int) -> None:
    spans = [(m.start, m.end) for m in sequence.mentions or ()]
    for frame in sequence.frames or ():
        spans.append(frame.target)
        spans.extend((start, end) for _, start, end in frame.elements)
    for start, end in spans:
        if not 0 <= start < end <= n_words:
            raise _error(sequence, f"a span {start}-{end}", f"a span of the {n_words} words")
    for mention in sequence.mentions or ():
        if mention.head is not None and not mention.start <= mention.head < mention.end:
            raise _error(sequence, f"head {mention.head} of a mention", "a word of the mention")


def _error(sequence: Sequence, found: str, expected: str) -> InputError:
    source = sequence.source or f"sequence {sequence.id!r}"
    return InputError(source, found=found, expected=expected, line=sequence.line or None)
