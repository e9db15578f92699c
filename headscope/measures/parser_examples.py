"""Sentences worth showing: what every head points to in them, and a few whole maps.

Which head is best at a relation is known only at the end of a pass, so a small, fixed sample of
sentences keeps the predictions of all heads, and the few sentences richest in relations keep their
maps (to 1/255). Both depend on ids and words alone: batches, shards and machines do not matter.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.parse_arcs import PUNCTUATION, sentence_numbers
from headscope.models.word_attention import WordUnits
from headscope.types import Encoded, Facts
from headscope.types import Sequence as Text
from headscope.values import Bundle, Example, Reservoir, TopK, Value

#: Sentences that keep predictions, and their length; tokens of the corpus they are drawn from.
N_SENTENCES: Final = 200
LENGTHS: Final = range(4, 41)
N_TOKENS: Final = 8000
#: Sentences that keep whole maps, and the lengths that are good to draw.
N_MAPS: Final = 4
MAP_LENGTHS: Final = range(6, 13)


class Sentence(NamedTuple):
    """Words `start` up to and without `stop` of a sequence, standing in the units `units`."""

    id: str
    row: int
    units: NDArray[np.int64]
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def text(self) -> str:
        """Everything that does not depend on the model."""
        fields = {"words": self.words, "heads": self.heads, "relations": self.relations}
        return json.dumps(fields, ensure_ascii=True)

    @property
    def richness(self) -> float:
        """Different relations but punctuation; a repeated word makes a drawing hard to read."""
        kinds = {r for r in self.relations if r.lower() not in PUNCTUATION | {"root"}}
        return len(kinds) - 2 * (len(self.words) - len({w.lower() for w in self.words}))


@dataclass(frozen=True, eq=False)
class ChosenSentences:
    """The sentences of a batch that may be shown."""

    sampled: tuple[Sentence, ...]
    drawn: tuple[Sentence, ...]

    def tensors(
        self, pointed: tuple[Tensor, Tensor], map_of: Callable[[int, NDArray[np.int64]], Tensor]
    ) -> list[Tensor]:
        """What the host needs of one layer: rows of sampled sentences, maps of drawn ones.

        `map_of(row, units)` is the attention between units of one sequence.
        """
        rows = [s.row for s in self.sampled]
        return [*(p[rows] for p in pointed), *(map_of(s.row, s.units) for s in self.drawn)]

    def of_layer(self, *arrays: NDArray[Any]) -> dict[str, Value]:
        """Predictions and maps of one layer's heads, from the arrays of `tensors`."""
        both, drawn = arrays[:2], arrays[2:]
        predictions = [
            Example(s.id, 0.0, _coded(np.stack([_inside(p[i], s) for p in both]), np.int16))
            for i, s in enumerate(self.sampled)
        ]
        maps = [
            Example(s.id, s.richness, _coded(np.rint(weights * 255), np.uint8))
            for s, weights in zip(self.drawn, drawn, strict=True)
        ]
        return {
            "predictions": Reservoir.of(predictions, k=N_SENTENCES),
            "maps": TopK.of(maps, k=N_MAPS),
        }

    def texts(self) -> Value:
        """The sentences themselves, of either kind; both kinds keep the ones they need."""
        return Bundle(
            {
                "sampled": Reservoir.of([_told(s) for s in self.sampled], k=N_SENTENCES),
                "drawn": TopK.of([_told(s) for s in self.drawn], k=N_MAPS),
            }
        )


def _told(sentence: Sentence) -> Example:
    return Example(sentence.id, sentence.richness, sentence.text)


def _inside(pointed: NDArray[np.int64], s: Sentence) -> NDArray[np.int64]:
    """[head, word]: predictions as positions in the sentence, -1 for none."""
    place = np.full(pointed.shape[-1] + 1, -1)
    place[s.units] = np.arange(len(s.units))
    found: NDArray[np.int64] = place[pointed[:, s.units]]
    return found


def _coded(array: NDArray[np.generic], dtype: type[np.generic]) -> str:
    return base64.b64encode(array.astype(dtype).tobytes()).decode()


def decoded(text: str, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[np.generic]:
    """The array behind an example's text.

    >>> decoded(_coded(np.array([[1, -1]]), np.int16), np.int16, (1, 2)).tolist()
    [[1, -1]]
    """
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


def chosen_sentences(side: Sequence[Encoded], units: WordUnits, facts: Facts) -> ChosenSentences:
    """The sentences of a batch that may end up in the sample or among the drawn ones."""
    n_tokens = int(facts.token_counts.sum())
    share = N_TOKENS / n_tokens if n_tokens else 1.0
    longest = max((len(e.sequence.words or ()) for e in side), default=0)
    place = units.unit_of_word(longest).cpu().numpy()
    sampled, drawable = [], []
    for row, one in enumerate(side):
        text = one.sequence
        if text.dependencies is None or text.words is None:
            continue
        is_sampled = _share_hash(text.id) < share
        for s in _sentences(text, row, place[row]):
            if is_sampled and len(s.words) in LENGTHS:
                sampled.append(s)
            if len(s.words) in MAP_LENGTHS:
                drawable.append(s)
    best = TopK.of((Example(s.id, s.richness, "") for s in drawable), k=N_MAPS)
    wanted = {e.id for e in best.examples}
    return ChosenSentences(tuple(sampled), tuple(s for s in drawable if s.id in wanted))


def _share_hash(id_: str) -> float:
    data = id_.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, person=b"example").digest()
    return int.from_bytes(digest, "big") / 2**64


def _sentences(text: Text, row: int, place: NDArray[np.int64]) -> Iterable[Sentence]:
    tree = text.dependencies
    assert tree is not None
    number = sentence_numbers(text)
    for first in np.flatnonzero(np.diff(number, prepend=-1)).tolist():
        last = int(np.searchsorted(number, number[first], side="right"))
        units = place[first:last]
        heads = tuple(h - first if h >= 0 else h for h in tree.heads[first:last])
        whole = all(-1 <= h < last - first for h in heads)
        if whole and len(units) in LENGTHS and (units >= 0).all():
            words = tuple(text.word_text(i) for i in range(first, last))
            yield Sentence(
                f"{text.id}#{first}", row, units, words, heads, tree.relations[first:last]
            )
