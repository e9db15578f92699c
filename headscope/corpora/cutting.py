"""What is left of a sequence that is too long: the rule, and a consistent smaller sequence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headscope.types import Dependencies, Encoded, Sequence


def fitting(encoded: Encoded, segment: int, budget: int) -> int | None:
    """How many of a segment's tokens are kept if there is room for `budget`.

    Cut at the last sentence end that fits; if not even one sentence fits, at the last word end that
    fits; without words, anywhere. None if not even the first word fits.
    """
    inside = encoded.segments == segment
    n_tokens = int(inside.sum())
    if n_tokens <= budget:
        return n_tokens
    sequence = encoded.sequence
    if sequence.words is None:
        return budget if budget > 0 else None
    words = encoded.words[inside]
    known = np.flatnonzero(words >= 0)
    # A word ends behind its last token, where the next token with a word has another one.
    last = known[np.append(words[known[1:]] != words[known[:-1]], True)]
    word_ends = last + 1
    if sequence.sentences is not None:
        final = np.isin(words[last] + 1, np.append(sequence.sentences[1:], len(sequence.words)))
        fits = word_ends[final & (word_ends <= budget)]
        if len(fits):
            return int(fits[-1])
    fits = word_ends[word_ends <= budget]
    return int(fits[-1]) if len(fits) else None


def pair_budgets(n_first: int, n_second: int, budget: int) -> tuple[int, int]:
    """Room for A and B: B is cut first, down to a quarter of all room, then A.

    >>> pair_budgets(50, 100, 100), pair_budgets(500, 100, 100), pair_budgets(500, 5, 100)
    ((50, 50), (75, 25), (95, 5))
    """
    least = min(n_second, budget // 4)
    first = min(n_first, budget - least)
    return first, budget - first


def keep(encoded: Encoded, kept: dict[int, int]) -> NDArray[np.bool_]:
    """The tokens that stay: the first `kept[segment]` of each segment, and the special ones."""
    mask = np.ones(encoded.n_tokens, np.bool_)
    for segment, n_kept in kept.items():
        mask[np.flatnonzero(encoded.segments == segment)[n_kept:]] = False
    return mask


def restrict(sequence: Sequence, ends: dict[int, int]) -> Sequence:
    """The sequence with its segments ended at the given characters, and its annotations with them.

    Words that are not whole are gone, and so are mentions and frames with a lost word. A word whose
    head is lost has the head -2: it has one, but not here.
    """
    text, pair = sequence.text, sequence.pair
    text = text[: ends.get(0, len(text))]
    pair = None if pair is None else pair[: ends.get(1, len(pair))]
    if sequence.words is None:
        return replace(sequence, text=text, pair=pair)
    limits = (len(text), len(pair or ""))
    stays = [i for i, word in enumerate(sequence.words) if word.end <= limits[word.segment]]
    place = {old: new for new, old in enumerate(stays)}
    tree = sequence.dependencies
    return replace(
        sequence,
        text=text,
        pair=pair,
        words=tuple(sequence.words[i] for i in stays),
        sentences=None
        if sequence.sentences is None
        else tuple(place[first] for first in sequence.sentences if first in place),
        pos=None if sequence.pos is None else tuple(sequence.pos[i] for i in stays),
        dependencies=None
        if tree is None
        else Dependencies(
            tuple(
                tree.heads[i] if tree.heads[i] < 0 else place.get(tree.heads[i], -2) for i in stays
            ),
            tuple(tree.relations[i] for i in stays),
        ),
        mentions=None
        if sequence.mentions is None
        else tuple(
            replace(
                m,
                start=place[m.start],
                end=place[m.end - 1] + 1,
                head=None if m.head is None else place[m.head],
            )
            for m in sequence.mentions
            if all(i in place for i in range(m.start, m.end))
        ),
        frames=None
        if sequence.frames is None
        else tuple(
            replace(
                frame,
                target=(place[frame.target[0]], place[frame.target[1] - 1] + 1),
                elements=tuple((n, place[s], place[e - 1] + 1) for n, s, e in frame.elements),
            )
            for frame in sequence.frames
            if all(
                i in place
                for start, end in (frame.target, *((s, e) for _, s, e in frame.elements))
                for i in range(start, end)
            )
        ),
    )


def renumber(encoded: Encoded, mask: NDArray[np.bool_], sequence: Sequence) -> Encoded:
    """The tokens that stay, told in the words of the restricted sequence."""
    old, new = encoded.sequence, sequence
    words = encoded.words[mask]
    if old.words is not None and new.words is not None:
        # Segments lose words at their ends only: B's words move up by what A lost.
        n_first = sum(1 for word in old.words if word.segment == 0)
        lost = n_first - sum(1 for word in new.words if word.segment == 0)
        words = np.where(words >= n_first, words - lost, words).astype(np.int32)
    return Encoded(
        sequence=new,
        input_ids=encoded.input_ids[mask],
        kinds=encoded.kinds[mask],
        segments=encoded.segments[mask],
        words=words,
        offsets=encoded.offsets[mask],
        model_inputs={name: values[mask] for name, values in encoded.model_inputs.items()},
        n_cut=int((~mask).sum()),
    )
