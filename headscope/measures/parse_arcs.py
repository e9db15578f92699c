"""The gold arcs of a batch, in words, ready to be compared with what heads point to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.word_attention import WordUnits
from headscope.types import Encoded
from headscope.types import Sequence as Text

#: Labels that mark punctuation: universal, Stanford and CLEAR say `punct`, older schemes `p`.
PUNCTUATION: Final = frozenset({"punct", "p"})
#: Labels of possessors, and the clitics that mark them.
POSSESSIVE: Final = frozenset({"poss", "nmod:poss"})
CLITICS: Final = frozenset({"'s", "’s", "'", "’"})


@dataclass(frozen=True, eq=False)
class Arcs:
    """Every word of a batch that has a head in its sentence.

    Arc i is of the sequence `rows[i]`: from the dependent's unit `dependents[i]` to the unit
    `heads[i]`, with the label `relations[labels[i]]`, in the half `halves[i]` (0 or 1) of the
    corpus. `offsets[i]` is how many words to the right of the dependent its head stands. Where the
    possessive rule applies, `clitics[i]` is the unit of the possessor's 's and `clitic_offsets[i]`
    its distance to the head; -1 and 0 elsewhere. `counted[i]` says whether the arc counts in `all`.
    `sentences[row, unit]` is the sentence of a unit, -1 for one outside any tree.
    """

    rows: Int[Tensor, " arc"]
    dependents: Int[Tensor, " arc"]
    heads: Int[Tensor, " arc"]
    clitics: Int[Tensor, " arc"]
    labels: NDArray[np.int64]
    halves: NDArray[np.int64]
    offsets: NDArray[np.int64]
    clitic_offsets: NDArray[np.int64]
    counted: NDArray[np.bool_]
    relations: tuple[str, ...]
    sentences: Int[Tensor, "batch unit"]

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def has_clitics(self) -> bool:
        return bool(self.clitic_offsets.any())

    def groups(self) -> Float[Tensor, "arc group"]:
        """One-hot columns: `all` in both halves, then every relation in both halves."""
        table = np.zeros((self.n, 1 + len(self.relations), 2), np.float32)
        arc = np.arange(self.n)
        table[arc, 0, self.halves] = self.counted
        table[arc, 1 + self.labels, self.halves] = 1.0
        return torch.from_numpy(table.reshape(self.n, -1)).to(self.rows.device)


def half_of(id_: str) -> int:
    """Which half of the corpus a sequence belongs to, decided by its id alone.

    >>> [half_of(f"s{i}") for i in range(8)]
    [0, 1, 0, 0, 0, 1, 0, 1]
    """
    digest = hashlib.blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=8, person=b"half")
    return digest.digest()[0] & 1


def sentence_numbers(text: Text) -> NDArray[np.int64]:
    """The sentence of every word; where the corpus knows none, a segment is one sentence."""
    words = text.words or ()
    if text.sentences is None:
        return np.array([word.segment for word in words], np.int64)
    starts = np.zeros(len(words), np.int64)
    starts[list(text.sentences)] = 1
    return np.cumsum(starts)


def clitic_of(text: Text, word: int) -> int:
    """The 's right behind a possessor, if it depends on it; else -1."""
    tree = text.dependencies
    after = word + 1
    if tree is None or after >= len(tree.heads) or tree.heads[after] != word:
        return -1
    return after if text.word_text(after) in CLITICS else -1


def arcs_of(
    side: Sequence[Encoded], units: WordUnits, *, punctuation: bool, possessive: bool
) -> Arcs:
    """The arcs of one side of a batch; sequences without a tree have none."""
    longest = max((len(e.sequence.words or ()) for e in side), default=0)
    unit_of = units.unit_of_word(longest).cpu().numpy()
    sentences = np.full(tuple(units.words.shape), -1)
    rows, dependents, heads, clitics = [], [], [], []
    labels, halves, offsets, clitic_offsets, counted = [], [], [], [], []
    relations: dict[str, int] = {}
    for row, one in enumerate(side):
        text, place = one.sequence, unit_of[row]
        tree = text.dependencies
        if tree is None or text.words is None:
            continue
        number = sentence_numbers(text)
        present = np.flatnonzero(place[: len(number)] >= 0)
        sentences[row, place[present]] = number[present]
        half = half_of(text.id)
        for word, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
            # a root has no head among the words, a lost head is not here to be found
            if head < 0 or place[word] < 0 or place[head] < 0 or number[word] != number[head]:
                continue
            clitic = clitic_of(text, word) if possessive and relation in POSSESSIVE else -1
            rows.append(row)
            dependents.append(place[word])
            heads.append(place[head])
            clitics.append(place[clitic] if clitic >= 0 else -1)
            labels.append(relations.setdefault(relation, len(relations)))
            halves.append(half)
            offsets.append(head - word)
            clitic_offsets.append(head - clitic if clitic >= 0 else 0)
            counted.append(punctuation or relation.lower() not in PUNCTUATION)
    device = units.words.device

    def indices(numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=device)

    return Arcs(
        rows=indices(rows),
        dependents=indices(dependents),
        heads=indices(heads),
        clitics=indices(clitics),
        labels=np.array(labels, np.int64),
        halves=np.array(halves, np.int64),
        offsets=np.array(offsets, np.int64),
        clitic_offsets=np.array(clitic_offsets, np.int64),
        counted=np.array(counted, np.bool_),
        relations=tuple(relations),
        sentences=torch.from_numpy(sentences).to(device),
    )
