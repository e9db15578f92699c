"""What tokens are in linguistic terms: nouns, verbs, subjects, negation, delimiters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.negation_words import Language, negates, negation_spans
from headscope.models import View
from headscope.types import Encoded, Sequence, TokenKind

CLASSES: Final = ("noun", "verb", "pronoun", "subject", "object", "negation", "cls", "sep")

#: Universal tags, and the Penn Treebank's with TreeTagger's variants (NP, VV…, PP).
_TAGS: Final = {
    "noun": ("NOUN", "PROPN", "NN", "NNS", "NNP", "NNPS", "NP", "NPS"),
    "verb": ("VERB", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
    "pronoun": ("PRON", "PRP", "PRP$", "WP", "WP$", "PP", "PPZ", "PP$"),
}
_CLASS_OF_TAG: Final = {tag: name for name, tags in _TAGS.items() for tag in tags}
_SUBJECTS: Final = ("nsubj", "nsubjpass")
_OBJECTS: Final = ("obj", "dobj")


@cache
def class_of_tag(tag: str) -> str | None:
    """`noun`, `verb` or `pronoun`, else None. Proper nouns are nouns, auxiliaries no verbs in UD.

    >>> [class_of_tag(tag) for tag in ("PROPN", "VVZ", "PRP$", "AUX", "NUM")]
    ['noun', 'verb', 'pronoun', None, None]
    """
    if tag in _CLASS_OF_TAG:
        return _CLASS_OF_TAG[tag]
    return "verb" if tag[:2] in ("VV", "VH", "VD") else None


def class_of_relation(relation: str) -> str | None:
    """`subject` or `object`, else None; subtypes count, clauses and indirect objects do not.

    >>> [class_of_relation(r) for r in ("nsubj:pass", "dobj", "iobj", "csubj")]
    ['subject', 'object', None, None]
    """
    plain = relation.partition(":")[0]
    if plain in _SUBJECTS:
        return "subject"
    return "object" if plain in _OBJECTS else None


def word_classes(sequence: Sequence, language: Language) -> dict[str, NDArray[np.bool_]]:
    """Per class that the sequence's annotations can tell, which words are of it."""
    if sequence.words is None:
        return {}
    n = len(sequence.words)

    def where(name: str, labels: list[str | None]) -> NDArray[np.bool_]:
        return np.fromiter((label == name for label in labels), bool, n)

    found: dict[str, NDArray[np.bool_]] = {}
    if sequence.pos is not None:
        tagged = [class_of_tag(tag) for tag in sequence.pos]
        found.update({name: where(name, tagged) for name in _TAGS})
    if sequence.dependencies is not None:
        related = [class_of_relation(r) for r in sequence.dependencies.relations]
        found.update({name: where(name, related) for name in ("subject", "object")})
    negation = (negates(sequence.word_text(i), language) for i in range(n))
    found["negation"] = np.fromiter(negation, bool, n)
    return found


def token_classes(encoded: Encoded, language: Language) -> NDArray[np.bool_]:
    """`[token, class]`, in the order of `CLASSES`; every token of a word is what the word is."""
    found = np.zeros((encoded.n_tokens, len(CLASSES)), bool)
    inside = encoded.words >= 0
    for name, words in word_classes(encoded.sequence, language).items():
        found[inside, CLASSES.index(name)] = words[encoded.words[inside]]
    if encoded.sequence.words is None:
        found[:, CLASSES.index("negation")] = _negation_in_text(encoded, language)
    found[:, CLASSES.index("cls")] = encoded.kinds == TokenKind.CLS
    found[:, CLASSES.index("sep")] = encoded.kinds == TokenKind.SEP
    return found


def _negation_in_text(encoded: Encoded, language: Language) -> NDArray[np.bool_]:
    starts, ends = encoded.offsets[:, 0], encoded.offsets[:, 1]
    negating = np.zeros(encoded.n_tokens, bool)
    for segment in (0, 1):
        for start, end in negation_spans(encoded.sequence.segment_text(segment), language):
            # A token may begin with the space before its word (GPT-2).
            negating |= (encoded.segments == segment) & (ends > start) & (starts < end)
    return negating


def classes_of_keys(view: View, language: Language) -> Bool[Tensor, "batch key class"]:
    """The classes of a view's keys, shared by its layers and by the measures that ask."""

    def build() -> Tensor:
        found = torch.zeros(*view.keys.real.shape, len(CLASSES), dtype=torch.bool)
        for i, one in enumerate(sides(view)):
            found[i, : one.n_tokens] = torch.from_numpy(token_classes(one, language))
        return found.to(view.pattern.device)

    return view.once(f"token_classes/{language}", build)


def sides(view: View) -> list[Encoded]:
    """The encoded keys: the decoder's side in its own stack, else the source."""
    decoder = view.stack == "decoder"
    choose: Callable[[Encoded], Encoded] = (
        (lambda e: e.target if e.target is not None else e) if decoder else (lambda e: e)
    )
    return [choose(e) for e in view.batch.encoded]
