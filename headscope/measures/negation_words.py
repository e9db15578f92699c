"""Words that negate, per language."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Language: TypeAlias = Literal["en", "de", "fr", "es"]


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Whole words in small letters; forms, not stems: `kein` does not stand for `keiner`.
NEGATION: Final[dict[Language, frozenset[str]]] = {
    "en": _listed(
        "no not n't never neither nor none nobody nothing nowhere cannot ain't aren't can't "
        "couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't "
        "shan't shouldn't wasn't weren't won't wouldn't"
    ),
    "de": _listed(
        "nein nicht nichts nie niemals niemand niemanden niemandem niemandes nirgends nirgendwo "
        "nirgendwohin weder kein keine keiner keines keinem keinen keins keinerlei"
    ),
    "fr": _listed("non ne n' pas jamais rien aucun aucune nul nulle ni guère nullement"),
    "es": _listed("no nunca jamás nada nadie ningún ninguno ninguna ningunos ningunas ni tampoco"),
}

_APOSTROPHES: Final = str.maketrans({"’": "'", "ʼ": "'"})
#: In plain text a word is a run of letters with apostrophes inside; French n' keeps its own.
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’ʼ][^\W\d_]+)*['’ʼ]?")


def negates(word: str, language: Language) -> bool:
    """Whether a whole word negates, whatever its case and apostrophe.

    >>> negates("Don’t", "en"), negates("knot", "en"), negates("Keinen", "de")
    (True, False, True)
    """
    return word.lower().translate(_APOSTROPHES) in NEGATION[language]


def negation_spans(text: str, language: Language) -> list[tuple[int, int]]:
    """The characters of every negating word of a plain text.

    >>> negation_spans("Not a knot: don't.", "en"), negation_spans("il n'est pas là", "fr")
    ([(0, 3), (12, 17)], [(3, 5), (9, 12)])
    """
    spans = []
    for match in _WORD.finditer(text):
        start, word = match.start(), match.group()
        if negates(word, language):
            spans.append((start, match.end()))
        elif negates(word.rstrip("'’ʼ"), language):
            spans.append((start, start + len(word.rstrip("'’ʼ"))))
        elif language == "fr" and negates(word[:2], language):
            spans.append((start, start + 2))  # n'est: the clitic is a word of its own
    return spans
