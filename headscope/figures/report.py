"""The report of a run: one HTML file that needs nothing but itself.

Vega, Vega-Lite and Vega-Embed are inside, once. The page asks the network for nothing, and its
content security policy forbids it to: scripts run only if their hash is listed, and expressions
of charts are interpreted rather than compiled, so that not even `eval` is allowed. Names of
models and corpora are hostile text here: every one is escaped, in HTML and inside JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from headscope.errors import UsageError
from headscope.figures import provenance, theme, wording
from headscope.figures.atlas.compared import check_layouts, differences, run_names
from headscope.figures.atlas.data import atlas_data
from headscope.figures.atlas.kinds import kinds_of
from headscope.figures.atlas.overview import kinds_tables
from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.atlas.run_heads import ReadOnce, plain_record, shapes_of
from headscope.figures.atlas.summary import summary
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
from headscope.figures.picture import Picture
from headscope.figures.registered import RunLike, available
from headscope.figures.vega_bundle import vega_bundle
from headscope.version import __version__


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Where a page leads when it is served rather than opened from disk.

    `pages` are (title, address); `heads` likewise, with the head's name to be added at the end.
    """

    pages: tuple[tuple[str, str], ...] = ()
    heads: tuple[tuple[str, str], ...] = ()


#: A page that is opened from disk leads nowhere.
NO_LINKS = PageLinks()

#: The parts of the atlas's script, in one closure.
_ATLAS_PARTS = ("data", "state", "tint", "glyph", "choice", "passport", "controls", "grid")
_N_SENTENCES = 3


def render_report(run: RunLike | Sequence[RunLike], *, links: PageLinks = NO_LINKS) -> str:
    """The report as HTML text; write it as UTF-8.

    Several runs of the same layout give one page with their differences; the first is what the
    others are compared with.
    """
    return _page(_several(run), figures=True, links=links)


def render_atlas(run: RunLike | Sequence[RunLike], *, links: PageLinks = NO_LINKS) -> str:
    """The report without its figures: light enough to live inside a notebook."""
    return _page(_several(run), figures=False, links=links)


def _several(run: RunLike | Sequence[RunLike]) -> list[ReadOnce]:
    runs = list(run) if isinstance(run, Sequence) else [run]
    if not runs:
        raise UsageError("a report needs at least one run")
    return [ReadOnce(one) for one in runs]


def _page(runs: list[ReadOnce], *, figures: bool, links: PageLinks) -> str:
    names = run_names(runs)
    check_layouts(runs, names)
    run, shapes = runs[0], shapes_of(runs[0])
    record = plain_record(run)
    datasets: dict[str, Any] = {}
    cards = _cards(runs, names, datasets) if figures else []
    kinds = [kinds_of(one) for one in runs]
    changes = differences(runs, names) if len(runs) > 1 else []
    pictures = [card.picture for card in cards if card.run in ("", names[0])]
    found = [*summary(run, kinds[0], shapes), *_findings(pictures)]
    if len(runs) > 1:  # what is said of one run must name it
        found = [f"In {names[0]}, {sentence[:1].lower()}{sentence[1:]}" for sentence in found]
    told = [*changes, *found]
    n_told = max(_N_SENTENCES, len(changes))
    scripts = [
        _atlas_script(),
        *([inline_script(vega_bundle())] if cards else []),
        inline_script(source("report.js")),
    ]
    n_sequences, n_tokens = provenance.amounts(record)
    page = environment().get_template("report.html.j2")
    return page.render(
        model=plain_text(" · ".join(names), N_NAME),
        several=len(runs) > 1,
        what_was_run=[
            plain_text(provenance.what_was_run(plain_record(one)), N_SENTENCE) for one in runs
        ],
        findings=[plain_text(s, N_SENTENCE) for s in dict.fromkeys(told)][:n_told],
        kinds=kinds_tables(kinds, names, shapes),
        rule=kinds[0].rule if kinds[0] else "",
        atlas={**atlas_data(runs, names, shapes), "links": links.heads} if shapes else None,
        links=links.pages,
        facts=_facts(record, n_sequences, n_tokens),
        cards=cards,
        figures=figures,
        datasets=datasets,
        left_out=provenance.left_out(record),
        sections=provenance.sections(record),
        themes={mode: theme.config(mode) for mode in theme.MODES},
        policy=policy_of(*scripts),
        style=Markup(theme.css() + source("report.css") + source("atlas.css")),
        scripts=scripts,
        version=__version__,
    )


def _cards(runs: list[ReadOnce], names: list[str], datasets: dict[str, Any]) -> list[Card]:
    """Every figure of every run, the same figures of different runs one after the other."""
    found = [(unit, i) for i, run in enumerate(runs) for unit in available(run)]
    found.sort(key=lambda pair: (pair[0].order, pair[0].name, pair[1]))
    cards: list[Card] = []
    seen: set[str] = set()
    for unit, i in found:
        name = unit.name if i == 0 else f"{unit.name}-{i + 1}"
        # Altair checks every part of every chart against its schema; the tests have done so
        with debug_mode(False):
            card = card_of(name, unit.draw(runs[i]), datasets)
        title = names[i] if len(runs) > 1 else ""
        cards.append(replace(card, run=title, first=unit.name not in seen))
        seen.add(unit.name)
    return cards


def _atlas_script() -> Markup:
    parts = "\n".join(source(f"atlas_{name}.js") for name in _ATLAS_PARTS)
    return inline_script(f'(() => {{\n"use strict";\n{parts}}})();')


def _findings(pictures: Sequence[Picture]) -> list[str]:
    """The sentences of the two most prominent pictures."""
    return [p.sentence for p in sorted(pictures, key=lambda p: -p.prominence)[:2]]


def _facts(record: Mapping[str, Any], n_sequences: int, n_tokens: int) -> list[tuple[str, str]]:
    """A few numbers to see at one glance: (number, what it counts)."""
    stacks = record.get("model", {}).get("stacks", ())
    n_heads = sum(s["n_layers"] * s["n_heads"] for s in stacks)
    pairs = [(n_heads, "heads"), (n_sequences, "sequences"), (n_tokens, "tokens")]
    return [(wording.count(n), name) for n, name in pairs if n]
