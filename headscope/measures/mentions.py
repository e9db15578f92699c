"""What a mention is: its head word, its type, and its number, gender and person."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from headscope.types import Mention
from headscope.types import Sequence as Text


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PRONOUN_TAGS: Final = _set("PRON PRP PRP$ WP WP$ EX PPER PPOSAT PPOSS PRF PDS PRELS PIS PWS")
_PROPER_TAGS: Final = frozenset({"PROPN", "NNP", "NNPS", "NE"})
_PLURAL_TAGS: Final = frozenset({"NNS", "NNPS"})

#: Pronouns with (number, gender, person); an empty field is open. English, then German.
_ATTRIBUTES: Final = {
    **dict.fromkeys(_set("i me my mine myself"), ("s", "", "1")),
    **dict.fromkeys(_set("we us our ours ourselves"), ("p", "", "1")),
    **dict.fromkeys(_set("you your yours yourself yourselves"), ("", "", "2")),
    **dict.fromkeys(_set("he him his himself"), ("s", "m", "3")),
    **dict.fromkeys(_set("she her hers herself"), ("s", "f", "3")),
    **dict.fromkeys(_set("it its itself this that"), ("s", "n", "3")),
    **dict.fromkeys(_set("they them their theirs themselves"), ("", "", "3")),
    **dict.fromkeys(_set("these those"), ("p", "", "3")),
    **dict.fromkeys(_set("who whom whose which"), ("", "", "3")),
    **dict.fromkeys(_set("ich mich mir mein meine meinen meinem meiner"), ("s", "", "1")),
    **dict.fromkeys(_set("wir uns unser unsere unseren unserem unserer"), ("p", "", "1")),
    **dict.fromkeys(_set("du dich dir dein deine euch euer"), ("", "", "2")),
    **dict.fromkeys(_set("er ihn ihm sein seine seinen seinem seiner"), ("s", "", "3")),
    **dict.fromkeys(_set("sie ihr ihre ihren ihrem ihrer ihnen sich es"), ("", "", "3")),
}
_MALE: Final = _set(
    "mr mr. sir lord king prince man men boy boys father dad son brother uncle husband "
    "grandfather gentleman nephew monk"
)
_FEMALE: Final = _set(
    "mrs mrs. ms ms. miss madam lady queen princess woman women girl girls mother mom mum "
    "daughter sister aunt wife grandmother niece nun"
)
_MANY: Final = _set("these those two three four five many several some few both all")
#: What may follow the head of an English noun phrase: nothing behind it can be the head.
_BEHIND_HEAD: Final = _set(
    ", ( [ : ; - – — of in on at for with from to by about as into over under between who whom "
    "whose which that where when"
)
_CLITICS: Final = frozenset({"'s", "’s", "'", "’"})


class MentionType(IntEnum):
    """The kinds of mentions that tables tell apart."""

    PRONOUN = 0
    PROPER = 1
    NOMINAL = 2


class Attributes(NamedTuple):
    """Number (s, p), gender (m, f, n) and person (1, 2, 3); empty where open."""

    number: str
    gender: str
    person: str

    def fits(self, other: Attributes) -> bool:
        """True unless both know a feature and disagree.

        >>> Attributes("s", "f", "3").fits(Attributes("s", "", "3"))
        True
        """
        return all(not a or not b or a == b for a, b in zip(self, other, strict=True))


def head_word(text: Text, mention: Mention) -> int:
    """The head word of a mention.

    As the corpus says; else, with a tree, the first word of the span whose head lies outside it;
    else the last word before anything that follows the head of an English noun phrase (a comma, a
    bracket, a preposition, a relative pronoun), without a final 's. In other languages without
    trees the last rule is mostly "the last word".
    """
    if mention.head is not None:
        return mention.head
    span = range(mention.start, mention.end)
    if text.dependencies is not None:
        heads = text.dependencies.heads
        return next((i for i in span if heads[i] not in span), mention.end - 1)
    last = mention.end - 1
    for i in span[1:]:
        if text.word_text(i).lower() in _BEHIND_HEAD:
            last = i - 1
            break
    if last > mention.start and text.word_text(last) in _CLITICS:
        last -= 1
    return last


def mention_type(text: Text, mention: Mention, head: int) -> MentionType:
    """A pronoun, a proper name, or neither (nominal).

    By the tag of the head word where there is one (universal, Penn, STTS). Without tags: a pronoun
    is a mention of one word from a list, a proper name has a head with a capital that does not
    begin a sentence, or begins it together with another capital in the mention. German writes all
    nouns with capitals: without tags its nominals count as proper.
    """
    word = text.word_text(head)
    if text.pos is not None and text.pos[head] not in ("", "_"):
        tag = text.pos[head]
        if tag in _PRONOUN_TAGS:
            return MentionType.PRONOUN
        if tag in _PROPER_TAGS:
            return MentionType.PROPER
        alone = mention.end - mention.start == 1
        listed = alone and word.lower() in _ATTRIBUTES
        return MentionType.PRONOUN if listed else MentionType.NOMINAL
    if mention.end - mention.start == 1 and word.lower() in _ATTRIBUTES:
        return MentionType.PRONOUN
    if not word[:1].isupper():
        return MentionType.NOMINAL
    if not _begins_sentence(text, head):
        return MentionType.PROPER
    others = (text.word_text(i) for i in range(mention.start, mention.end) if i != head)
    return MentionType.PROPER if any(o[:1].isupper() for o in others) else MentionType.NOMINAL


def _begins_sentence(text: Text, word: int) -> bool:
    if text.sentences is not None:
        return word in text.sentences
    return word == 0 or text.word_text(word - 1) in {".", "!", "?", ":", "“", '"', "``"}


def attributes(text: Text, mention: Mention, head: int, kind: MentionType) -> Attributes:
    """Number, gender and person by word lists, tags and, last, an English plural ending."""
    word = text.word_text(head).lower()
    if kind is MentionType.PRONOUN:
        return Attributes(*_ATTRIBUTES.get(word, ("", "", "")))
    words = {text.word_text(i).lower() for i in range(mention.start, mention.end)}
    tag = text.pos[head] if text.pos is not None else ""
    ending = kind is MentionType.NOMINAL and word.endswith("s") and not word.endswith(("ss", "us"))
    plural = "and" in words or words & _MANY or tag in _PLURAL_TAGS or ending
    gender = "m" if words & _MALE else "f" if words & _FEMALE else ""
    return Attributes("p" if plural else "s", gender, "3")
