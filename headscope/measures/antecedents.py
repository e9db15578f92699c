"""Mentions that have antecedents, and three rules that guess them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headscope.measures.mentions import (
    Attributes,
    MentionType,
    attributes,
    head_word,
    mention_type,
)
from headscope.types import Sequence as Text

SYSTEMS: Final = ("nearest", "head_match", "rules")


@dataclass(frozen=True, slots=True)
class Described:
    """A mention with everything the rules look at."""

    entity: str
    start: int
    end: int
    head: int
    type: MentionType
    words: str
    head_form: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Anaphor:
    """A mention with at least one antecedent: an earlier mention of its entity.

    `before` are all earlier mentions of any entity, nearest first; `antecedents` the head words of
    those of its own entity.
    """

    mention: Described
    before: tuple[Described, ...]
    antecedents: frozenset[int]


def described(text: Text) -> list[Described]:
    """The mentions of a sequence in the order of their beginnings, the longer of two first."""
    found = []
    for m in sorted(text.mentions or (), key=lambda m: (m.start, -m.end, m.entity)):
        head = head_word(text, m)
        kind = mention_type(text, m, head)
        words = " ".join(text.word_text(i).lower() for i in range(m.start, m.end))
        form = text.word_text(head).lower()
        features = attributes(text, m, head, kind)
        found.append(Described(m.entity, m.start, m.end, head, kind, words, form, features))
    return found


def anaphors(text: Text) -> list[Anaphor]:
    """Every mention with an antecedent whose head is another word than its own.

    A mention that shares its head word with an earlier one of the same entity (two spans around one
    noun) is the same link told twice and counted once.
    """
    mentions = described(text)
    found: list[Anaphor] = []
    seen: set[tuple[str, int]] = set()
    for i, mention in enumerate(mentions):
        key = mention.entity, mention.head
        if key in seen:
            continue
        seen.add(key)
        before = tuple(m for m in reversed(mentions[:i]) if m.head != mention.head)
        heads = frozenset(m.head for m in before if m.entity == mention.entity)
        if heads:
            found.append(Anaphor(mention, before, heads))
    return found


def guess(system: str, anaphor: Anaphor) -> Described | None:
    """The antecedent a rule picks: the nearest earlier mention that passes its first open sieve.

    `nearest`: any mention. `head_match`: one with the same head word. `rules`: four sieves in turn,
    after Lee et al. 2011: the same words, the same head word, matching number, gender and person,
    any mention. None where no mention passes.
    """
    me = anaphor.mention
    sieves: dict[str, tuple[Callable[[Described], bool], ...]] = {
        "nearest": (lambda m: True,),
        "head_match": (lambda m: m.head_form == me.head_form,),
        "rules": (
            lambda m: m.words == me.words,
            lambda m: m.head_form == me.head_form,
            lambda m: m.attributes.fits(me.attributes),
            lambda m: True,
        ),
    }
    for sieve in sieves[system]:
        for mention in anaphor.before:
            if sieve(mention):
                return mention
    return None


def is_right(anaphor: Anaphor, found: Described | None) -> bool:
    """Whether a guess is a mention of the anaphor's entity."""
    return found is not None and found.entity == anaphor.mention.entity
