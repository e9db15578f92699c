"""Dependency trees: are they trees, and which word of a span is its head."""

from __future__ import annotations

from collections.abc import Sequence as SequenceABC

from headscope.corpora.source import Source


def check_tree(
    heads: SequenceABC[int], lines: SequenceABC[int], source: Source, *, one_root: bool
) -> None:
    """Refuse what is no tree, naming the line of the word to blame.

    `heads` counts from 0 inside the sentence, -1 is the root, and is known to be in range.
    `one_root=False` also lets several roots pass, as CoNLL-X does.
    """
    roots = [i for i, head in enumerate(heads) if head == -1]
    if not roots:
        raise source.error("a sentence without a root", "one word with head 0", lines[0])
    if one_root and len(roots) > 1:
        raise source.error(
            f"{len(roots)} roots in one sentence", "one word with head 0", lines[roots[1]]
        )
    # 0: not seen, 1: on the path being walked, 2: known to end at a root.
    state = [0] * len(heads)
    for start in range(len(heads)):
        path: list[int] = []
        at = start
        while at != -1 and state[at] == 0:
            state[at] = 1
            path.append(at)
            at = heads[at]
        if at != -1 and state[at] == 1:
            raise source.error(
                f"a cycle through word {at + 1}", "heads that lead to the root", lines[at]
            )
        for seen in path:
            state[seen] = 2


def span_head(heads: SequenceABC[int], start: int, end: int) -> int:
    """The word of [start, end) whose own head lies outside it.

    Of several, the one nearest to the root; of those, the first.

    >>> span_head([1, 2, -1, 2], 0, 2)  # "the big dog barks"-like: word 1 hangs outside
    1
    """
    outside = [i for i in range(start, end) if not start <= heads[i] < end]
    return min(outside, key=lambda i: (_depth(heads, i), i))


def _depth(heads: SequenceABC[int], at: int) -> int:
    depth = 0
    while heads[at] >= 0:
        at = heads[at]
        depth += 1
    return depth
