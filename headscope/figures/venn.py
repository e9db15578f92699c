"""A Venn diagram of two, three or four sets, with room for every overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import numpy as np
from numpy.typing import NDArray

from headscope.figures.head_values import Records
from headscope.figures.picture import Chart


@dataclass(frozen=True, slots=True)
class Ellipse:
    """Centre, half axes, and rotation in degrees, in a square of side 1."""

    x: float
    y: float
    a: float
    b: float
    angle: float = 0.0

    def holds(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
        """Which points lie inside."""
        turn = np.deg2rad(self.angle)
        u = (x - self.x) * np.cos(turn) + (y - self.y) * np.sin(turn)
        v = (y - self.y) * np.cos(turn) - (x - self.x) * np.sin(turn)
        return np.asarray((u / self.a) ** 2 + (v / self.b) ** 2 <= 1)

    def outline(self, n: int = 90) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points along the edge."""
        turn, t = np.deg2rad(self.angle), np.linspace(0, 2 * np.pi, n)
        u, v = self.a * np.cos(t), self.b * np.sin(t)
        x = self.x + u * np.cos(turn) - v * np.sin(turn)
        y = self.y + u * np.sin(turn) + v * np.cos(turn)
        return x, y


#: Shapes in which all 2ᵏ − 1 overlaps exist; four circles cannot do that, four ellipses can
#: (Venn 1880).
SHAPES: Final = {
    2: (Ellipse(0.36, 0.5, 0.27, 0.27), Ellipse(0.64, 0.5, 0.27, 0.27)),
    3: (
        Ellipse(0.36, 0.62, 0.27, 0.27),
        Ellipse(0.64, 0.62, 0.27, 0.27),
        Ellipse(0.5, 0.38, 0.27, 0.27),
    ),
    4: (
        Ellipse(0.35, 0.42, 0.36, 0.225, 140),
        Ellipse(0.45, 0.52, 0.36, 0.225, 140),
        Ellipse(0.55, 0.52, 0.36, 0.225, 40),
        Ellipse(0.65, 0.42, 0.36, 0.225, 40),
    ),
}


def regions(n_sets: int, size: int = 240) -> dict[frozenset[int], tuple[float, float]]:
    """For every overlap, the point of its region that is farthest from any edge.

    >>> len(regions(2)), len(regions(3)), len(regions(4))
    (3, 7, 15)
    """
    from scipy.ndimage import distance_transform_edt

    line = (np.arange(size) + 0.5) / size
    x, y = np.meshgrid(line, line)
    inside = [shape.holds(x, y).astype(np.int64) << i for i, shape in enumerate(SHAPES[n_sets])]
    code = np.sum(inside, axis=0)
    places: dict[frozenset[int], tuple[float, float]] = {}
    for value in range(1, 1 << n_sets):
        depth = np.asarray(distance_transform_edt(code == value))
        row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
        members = frozenset(i for i in range(n_sets) if value >> i & 1)
        places[members] = (float(line[column]), float(line[row]))
    return places


def venn(
    sets: Sequence[tuple[str, str, set[Any]]], *, size: int = 300, title: str = ""
) -> tuple[Chart, dict[str, Records]]:
    """The diagram of (label, colour, members) and its data; a region shows how many it has."""
    shapes = SHAPES[len(sets)]
    labels, colours = [name for name, _, _ in sets], [colour for _, colour, _ in sets]
    edges: Records = []
    names: Records = []
    for (label, _, members), shape in zip(sets, shapes, strict=True):
        xs, ys = shape.outline()
        edges += [
            {"set": label, "x": float(x), "y": float(y), "order": i}
            for i, (x, y) in enumerate(zip(xs, ys, strict=True))
        ]
        outward = np.array([shape.x - 0.5, shape.y - 0.5])
        point = int(np.argmax((xs - 0.5) * outward[0] + (ys - 0.5) * outward[1] * 1.4))
        names.append(
            {
                "set": label,
                "x": float(np.clip(xs[point] + 0.06 * np.sign(outward[0]), 0.06, 0.94)),
                "y": float(ys[point] + 0.05 * np.sign(outward[1] or 1.0)),
                "text": f"{label} ({len(members)})",
            }
        )
    everyone = set().union(*(members for _, _, members in sets))
    texts: Records = []
    for inside, (x, y) in regions(len(sets)).items():
        here = {
            m for m in everyone if all((m in sets[i][2]) == (i in inside) for i in range(len(sets)))
        }
        named = " + ".join(labels[i] for i in sorted(inside))
        texts.append({"x": x, "y": y, "n": len(here), "where": named})
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05]))
    up = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0.05, 1.0]))
    colour = alt.Color("set:N", scale=alt.Scale(domain=labels, range=colours), legend=None)
    outline = alt.Chart(alt.NamedData(name="venn_edges")).encode(x=across, y=up, order="order:Q")
    chart: Chart = alt.layer(
        outline.mark_line(filled=True, fillOpacity=0.16, strokeWidth=0).encode(
            fill=alt.Fill("set:N", scale=alt.Scale(domain=labels, range=colours), legend=None),
            detail="set:N",
        ),
        outline.mark_line(strokeWidth=2).encode(color=colour),
        alt.Chart(alt.NamedData(name="venn_counts"))
        .transform_filter("datum.n > 0")
        .mark_text(fontSize=14, fontWeight=600, style="annotation")
        .encode(
            x=across,
            y=up,
            text="n:Q",
            tooltip=[alt.Tooltip("where:N", title="only"), alt.Tooltip("n:Q", title="heads")],
        ),
        alt.Chart(alt.NamedData(name="venn_names"))
        .mark_text(fontSize=11, fontWeight=600)
        .encode(x=across, y=up, text="text:N", color=colour),
    ).properties(width=size, height=size * 0.86, title=title)
    return chart, {"venn_edges": edges, "venn_counts": texts, "venn_names": names}
