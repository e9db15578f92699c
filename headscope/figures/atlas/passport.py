"""Everything a run knows about one head."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from headscope.figures.atlas.row import Row
from headscope.figures.atlas.run_heads import ReadOnce, head_named
from headscope.figures.atlas.section import Section, sections_of
from headscope.figures.registered import RunLike
from headscope.types import HeadId

_STYLE = "text-align:left;vertical-align:top;padding:.15em 1em .15em 0"
_BAR = "width:7em;height:.55em;margin-top:.4em;background:rgba(128,128,128,.25);border-radius:3px"


@dataclass(frozen=True, slots=True)
class Passport:
    """One head: its name and what every section says about it. Notebooks show it."""

    head: HeadId
    parts: tuple[tuple[Section, tuple[Row, ...]], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: the head, and the sections with their rows."""
        return {
            "head": str(self.head),
            "stack": self.head.stack,
            "layer": self.head.layer + 1,
            "number": self.head.head + 1,
            "sections": [
                {"name": s.name, "title": s.title, "rows": [row.to_dict() for row in rows]}
                for s, rows in self.parts
            ],
        }

    def __str__(self) -> str:
        lines = [f"Head {self.head}"]
        for part in self.to_dict()["sections"]:
            lines += ["", part["title"]]
            width = max((len(row["label"]) for row in part["rows"]), default=0)
            for row in part["rows"]:
                mark = "•" if row.get("strong") else " "
                text = row.get("text", "")
                beside = text if "number" in row else ""
                cells = [row.get("value", ""), *_support(row), beside]
                said = "  ".join(cell for cell in cells if cell)
                lines.append(f"  {mark} {row['label']:<{width}}  {said}".rstrip())
                if text and not beside:
                    lines.append(f"      {text}")
        if len(lines) == 1:
            lines.append("The run has no table that speaks of it.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = ""
        for part in self.to_dict()["sections"]:
            body += f"<tr><th colspan='4' style='{_STYLE}'>{escape(part['title'])}</th></tr>"
            body += "".join(map(_html_row, part["rows"]))
        return f"<h4>Head {escape(str(self.head))}</h4><table>{body}</table>"


def _html_row(row: dict[str, Any]) -> str:
    """A row of the notebook's table: label, bar, value, what stands behind it."""
    label, text = escape(row["label"]), row.get("text", "")
    beside = text if "number" in row else ""
    support = escape(", ".join([*_support(row), *([beside] if beside else [])]))
    below = f"<br><small><bdi>{escape(text)}</bdi></small>" if text and not beside else ""
    bar = ""
    if "bar" in row:
        fill = f"background:#31688e;width:{row['bar']:.1%};height:100%"
        bar = f"<div style='{_BAR}'><div style='{fill}'></div></div>"
    name = f"<strong>{label}</strong>" if row.get("strong") else label
    cells = (
        f"<bdi>{name}</bdi>{below}",
        bar,
        escape(row.get("value", "")),
        f"<small><bdi>{support}</bdi></small>",
    )
    return f"<tr>{''.join(f'<td style={_STYLE!r}>{cell}</td>' for cell in cells)}</tr>"


def _support(row: dict[str, Any]) -> list[str]:
    interval = f"95 % interval {row['interval']}" if "interval" in row else ""
    return [part for part in (interval, f"n = {row['n']:,}" if "n" in row else "") if part]


def passport_of(run: RunLike, layer: int | str | HeadId, head: int | None = None) -> Passport:
    """The passport of a head, named as people do, from 1: (3, 1) or "3-1"."""
    found = head_named(run, layer, head)
    once = ReadOnce(run)
    told = [(s, tuple(s.tell(once).get(found, ()))) for s in sections_of(once)]
    return Passport(found, tuple((s, rows) for s, rows in told if rows))
