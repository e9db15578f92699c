"""Names and colours of the shapes of attention maps (table `patterns`)."""

from __future__ import annotations

from typing import Final, NamedTuple

from headscope.figures.theme import OKABE_ITO


class PatternName(NamedTuple):
    """`label` names the shape for people."""

    label: str
    colour: str


#: Grey is for maps without structure; it reads on light and on dark pages.
PATTERN_NAMES: Final[dict[str, PatternName]] = {
    "vertical": PatternName("vertical", OKABE_ITO["blue"]),
    "vertical_diagonal": PatternName("vertical + diagonal", OKABE_ITO["purple"]),
    "diagonal": PatternName("diagonal", OKABE_ITO["vermillion"]),
    "block": PatternName("block", OKABE_ITO["green"]),
    "heterogeneous": PatternName("heterogeneous", "#9a9ea5"),
}
