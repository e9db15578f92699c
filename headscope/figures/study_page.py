"""The report of a study: claims with their verdicts, and our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from headscope.figures import theme
from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.page import (
    N_NAME,
    N_SENTENCE,
    Card,
    card_of,
    environment,
    inline_script,
    policy_of,
    source,
)
from headscope.figures.picture import Picture, Table
from headscope.figures.vega_bundle import vega_bundle
from headscope.version import __version__


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim as the page shows it; every field is plain text."""

    says: str
    paper: str
    found: str
    here: str
    interval: str
    n: str
    verdict: Literal["holds", "does not hold", "cannot tell"]
    rule: str


@dataclass(frozen=True, slots=True)
class Section:
    """A figure or table of the paper: what it shows there, and pictures and a table from here."""

    paper: str
    title: str
    said: str
    pictures: tuple[tuple[str, Picture], ...] = ()
    table: Table | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class StudyPage:
    """All that a study's report says."""

    title: str
    paper: str
    model: str
    about: str
    claims: tuple[ClaimRow, ...]
    sections: tuple[Section, ...]
    steps: Table
    facts: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A section with its charts as the page needs them."""

    id: str
    section: Section
    cards: tuple[Card, ...]


def render_study(page: StudyPage) -> str:
    """The report as HTML text; write it as UTF-8. It needs nothing but itself."""
    datasets: dict[str, Any] = {}
    drawn = [_drawn(i, section, datasets) for i, section in enumerate(page.sections, 1)]
    with_charts = any(one.cards for one in drawn)
    scripts = [
        *([inline_script(vega_bundle())] if with_charts else []),
        inline_script(source("report.js")),
    ]
    counts = [(v, sum(c.verdict == v for c in page.claims)) for v in VERDICTS]
    return (
        environment()
        .get_template("study.html.j2")
        .render(
            page=page,
            title=plain_text(page.title, N_NAME),
            model=plain_text(page.model, N_NAME),
            about=plain_text(page.about, N_SENTENCE),
            drawn=drawn,
            counts=counts,
            marks=MARKS,
            datasets=datasets,
            themes={mode: theme.config(mode) for mode in theme.MODES},
            policy=policy_of(*scripts),
            style=Markup(theme.css() + source("report.css") + source("study.css")),
            scripts=scripts,
            version=__version__,
        )
    )


VERDICTS = ("holds", "does not hold", "cannot tell")
#: Told apart by shape as well as by colour.
MARKS = {"holds": "✓", "does not hold": "✗", "cannot tell": "?"}


def _drawn(number: int, section: Section, datasets: dict[str, Any]) -> _Drawn:
    name = f"part-{number}"
    cards: list[Card] = []
    for i, (label, picture) in enumerate(section.pictures, 1):
        # Altair checks every part of every chart against its schema; the tests have done so
        with debug_mode(False):
            card = card_of(f"{name}-{i}", picture, datasets)
        cards.append(Card(card.id, picture, card.spec, card.datasets, card.renderer, label))
    return _Drawn(name, section, tuple(cards))


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; bars inside cells are escaped.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    return "\n".join([line(columns), "|" + "---|" * len(columns), *map(line, rows)])
