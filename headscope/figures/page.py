"""The parts of every page: charts with their data, scripts that may run, templates.

Vega, Vega-Lite and Vega-Embed are inside a page, once. It asks the network for nothing, and its
content security policy forbids it to. Names of models and corpora are hostile text here: every one
is escaped, in HTML and inside JSON.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.picture import Picture

#: With more rows of data a chart is drawn on canvas, which is faster; else as SVG, which prints
#: better and shrinks to narrow screens.
_MANY_ROWS = 9000


#: Longest name and sentence, in characters; what is longer was not written for people.
N_NAME, N_SENTENCE = 200, 1000


@dataclass(frozen=True, slots=True)
class Card:
    """A picture in the page; `datasets` says where its data lies in the page's store."""

    id: str
    picture: Picture
    spec: dict[str, Any]
    datasets: dict[str, str]
    renderer: str
    run: str = ""
    first: bool = True


def card_of(name: str, picture: Picture, store: dict[str, Any]) -> Card:
    """Move the data from the specification to the page's store, where equal data lies once."""
    spec, datasets = picture.spec(), {}
    own: dict[str, list[dict[str, Any]]] = spec.pop("datasets", {})
    for local, rows in own.items():
        columns = _columns(rows)
        datasets[local] = hashlib.sha256(repr(columns).encode()).hexdigest()[:12]
        store[datasets[local]] = columns
    n_rows = sum(len(rows) for rows in own.values())
    renderer = "canvas" if n_rows > _MANY_ROWS else "svg"
    return Card(name, picture, spec, datasets, renderer)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Records as columns, which say every name once; the page turns them back.

    >>> _columns([{"layer": 1, "value": 0.5}, {"layer": 2}])
    {'layer': [1, 2], 'value': [0.5, None]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@functools.cache
def environment() -> jinja2.Environment:
    """The templates; whatever is put into them is escaped."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.figures", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["tied"] = _tied
    made.filters["plain"] = lambda text: plain_text(str(text), N_SENTENCE)
    return made


def _tied(text: str) -> str:
    """No line break between a number and its unit.

    >>> _tied("95 % interval, n = 5")
    '95\xa0% interval, n\xa0=\xa05'
    """
    return text.replace(" %", "\N{NO-BREAK SPACE}%").replace(
        "n = ", "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
    )


def source(name: str) -> str:
    """The text of a template, a style sheet or a script."""
    known = environment()
    assert known.loader is not None
    return known.loader.get_source(known, name)[0]


def inline_script(source: str) -> Markup:
    """Script text that cannot end its element early, in the bytes a browser will hash."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    source = re.sub(r"<(?=/script|!--)", r"\\x3c", source, flags=re.IGNORECASE)
    return Markup(source)


def policy_of(*scripts: str) -> str:
    """Nothing may load; these scripts may run; charts may style themselves."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
