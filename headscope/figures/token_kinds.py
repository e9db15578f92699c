"""Words for kinds of tokens and links (tables `features`, `links`, `cls_row`)."""

from __future__ import annotations

from typing import Final

KINDS: Final = {
    "noun": "nouns",
    "verb": "verbs",
    "pronoun": "pronouns",
    "subject": "subjects",
    "object": "objects",
    "negation": "negation words",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punct": "periods and commas",
    "other": "all other tokens",
}
LINGUISTIC: Final = ("noun", "verb", "pronoun", "subject", "object", "negation")
LINKS: Final = {
    "verb_to_subject": "verb → subject",
    "subject_to_verb": "subject → verb",
    "pronoun_to_noun": "pronoun → noun",
    "noun_to_pronoun": "noun → pronoun",
}
