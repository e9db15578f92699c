"""What the atlas's page knows, as compact plain JSON.

Rows repeat the same few words thousands of times: every text lies once in `strings`, and a row is
a list of numbers in the order of `fields`, without what is missing at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headscope.figures.atlas.kinds import FAMILIES, OWN, role_labels
from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.atlas.run_heads import StackShape, heads_of
from headscope.figures.atlas.section import Section, sections_of
from headscope.figures.cluster_labels import cluster_label, read_clusters
from headscope.figures.registered import RunLike
from headscope.figures.role_names import read_roles
from headscope.figures.theme import STACK_TITLES
from headscope.types import HeadId

FIELDS: Final = (
    "label", "value", "bar", "number", "unit", "interval", "bar_low", "bar_high", "n", "strong",
    "text", "keywords", "head",
)  # fmt: skip
#: Fields that are text.
TEXTS: Final = ("label", "value", "unit", "interval", "text", "keywords", "head")
_GLYPH_NAMES: Final = 80


class _Strings:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))


def atlas_data(
    runs: Sequence[RunLike], names: Sequence[str], shapes: Sequence[StackShape]
) -> dict[str, Any]:
    """Everything the page shows of these runs; heads go by their names, as in "3-1"."""
    strings = _Strings()
    units: dict[str, Section] = {s.name: s for run in runs for s in sections_of(run)}
    ordered = sorted(units.values(), key=lambda s: (s.order, s.name))
    roles = {name: (label, family) for run in runs for name, label, family in role_labels(run)}
    heads = heads_of(shapes)
    told = [_told(run, name, heads, ordered, list(roles), strings)
            for run, name in zip(runs, names, strict=True)]  # fmt: skip
    known = {head for run in told for head in run["passports"]}
    return {
        "stacks": [
            {
                "stack": s.stack,
                "title": STACK_TITLES[s.stack],
                "n_layers": s.n_layers,
                "n_heads": s.n_heads,
            }
            for s in shapes
        ],
        # a place that no table speaks of is a head the model does not have
        "heads": [
            {"id": str(h), "stack": h.stack, "layer": h.layer + 1, "head": h.head + 1}
            for h in heads
            if str(h) in known or not known
        ],
        "families": [{"name": f.name, "label": f.label} for f in (*FAMILIES, OWN)],
        "roles": [
            {"name": plain_text(name, _GLYPH_NAMES), "label": plain_text(label, _GLYPH_NAMES),
             "family": family}
            for name, (label, family) in roles.items()
        ],
        "sections": [s.describe() for s in ordered],
        "fields": FIELDS,
        "texts": TEXTS,
        "runs": told,
        "strings": list(strings.known),
    }  # fmt: skip


def _told(
    run: RunLike,
    name: str,
    heads: Sequence[HeadId],
    sections: Sequence[Section],
    roles: Sequence[str],
    strings: _Strings,
) -> dict[str, Any]:
    passports: dict[str, dict[str, Any]] = {}
    places = {str(head) for head in heads}
    for unit in sections:
        if unit.fits(run):
            for head, rows in unit.tell(run).items():
                if str(head) in places and rows:
                    packed = [_packed(row.to_dict(), strings) for row in rows]
                    passports.setdefault(str(head), {})[unit.name] = packed
    clusters = read_clusters(run.table("clusters")) if "clusters" in run.tables else []
    labels = {c.cluster: plain_text(cluster_label(c.cluster, c.name), _GLYPH_NAMES)
              for c in clusters}  # fmt: skip
    return {
        "name": name,
        "passports": passports,
        "roles": _assigned(run, roles),
        "tested": "roles" in run.tables,
        "clusters": {str(c.head): [c.cluster, bool(c.stable)] for c in clusters},
        "cluster_labels": [labels.get(i, str(i + 1)) for i in range(max(labels, default=-1) + 1)],
    }


def _assigned(run: RunLike, roles: Sequence[str]) -> dict[str, list[int]]:
    if "roles" not in run.tables:
        return {}
    place = {name: i for i, name in enumerate(roles)}
    skills = read_roles(run.table("roles")).skills()
    return {str(h): sorted(place[role] for role in own) for h, own in skills.items() if own}


def _packed(row: dict[str, Any], strings: _Strings) -> list[Any]:
    """A row as a list.

    >>> _packed({"label": "obj", "value": "80 %", "bar": 0.8}, _Strings())
    [0, 1, 0.8]
    """
    values = [
        strings.number(row[name]) if name in TEXTS and name in row else row.get(name)
        for name in FIELDS
    ]
    while values and values[-1] is None:
        values.pop()
    return [1 if value is True else value for value in values]
