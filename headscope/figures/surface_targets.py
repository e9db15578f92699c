"""Names and colours of what a head can look at (table `surface`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from headscope.figures.theme import OKABE_ITO


class Target(NamedTuple):
    """`label` heads a panel; `phrase` completes "puts … of its attention on"."""

    label: str
    phrase: str
    colour: str


TARGETS: Final[dict[str, Target]] = {
    "prev": Target("previous token", "the previous token", OKABE_ITO["vermillion"]),
    "self": Target("the token itself", "the token itself", OKABE_ITO["green"]),
    "next": Target("next token", "the next token", OKABE_ITO["blue"]),
    "first": Target("first token", "the first token", OKABE_ITO["sky"]),
    "cls": Target("[CLS]", "[CLS]", OKABE_ITO["sky"]),
    "sep": Target("[SEP]", "[SEP]", OKABE_ITO["vermillion"]),
    "punct": Target("period or comma", "periods and commas", OKABE_ITO["green"]),
    "other": Target("all other tokens", "all other tokens", OKABE_ITO["purple"]),
    "sep_from_sep": Target("[SEP] from [SEP]", "[SEP] (from [SEP])", OKABE_ITO["blue"]),
    "sep_from_other": Target(
        "[SEP] from other tokens", "[SEP] (from other tokens)", OKABE_ITO["orange"]
    ),
}

#: Targets a head can be *about*: `other` is everything else, and the last two split `sep`.
POINTED: Final = ("prev", "self", "next", "first", "cls", "sep", "punct")


def target(name: str) -> Target:
    """The words for a target, also for one this version does not know."""
    return TARGETS.get(name, Target(name, name, OKABE_ITO["purple"]))


def in_order(names: set[str]) -> list[str]:
    """Known targets first, in a fixed order; then the rest by name."""
    return [t for t in TARGETS if t in names] + sorted(names - TARGETS.keys())
