"""The curves of a soak, as one image."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np

from bench.picture import save
from bench.soak.verdict import lines_of

#: Points per curve: medians of that many stretches of time.
_POINTS = 150


def draw(folder: Path, path: Path) -> None:
    """Memory, open files and latency over time, one panel each."""
    samples, requests = lines_of(folder / "samples.jsonl"), lines_of(folder / "requests.jsonl")
    start = samples[0]["time"]
    panels = [
        _panel(
            _curves(samples, "process", field, start),
            title,
            ["serve", "analyze", "sql worker"],
        )
        for field, title in (("mebibytes", "memory, MiB"), ("n_files", "open files"))
    ]
    good = [r for r in requests if r["status"] == 200]
    shown = ["runs", "sql", "map", "read"]
    latency = _curves([r for r in good if r["kind"] in shown], "kind", "milliseconds", start)
    panels.append(_panel(latency, "median latency, ms", shown))
    minutes = (samples[-1]["time"] - start) / 60
    title = alt.TitleParams(
        f"{minutes:.0f} minutes of analyze and serve under {len(requests):,} requests",
        subtitle="analyze over a corpus that grows; 50 clients at the explorer",
    )
    save(alt.hconcat(*panels).resolve_scale(color="independent").properties(title=title), path)


def _curves(rows: list[dict[str, object]], by: str, field: str, start: float) -> alt.Data:
    found = []
    for name in dict.fromkeys(str(row[by]) for row in rows):
        mine = [(float(r["time"]), float(r[field])) for r in rows if r[by] == name]  # type: ignore[arg-type]
        for part in np.array_split(np.array(mine), min(_POINTS, len(mine))):
            at, value = np.median(part, axis=0)
            found.append({"minute": (at - start) / 60, "value": value, "what": name})
    return alt.Data(values=found)


def _panel(data: alt.Data, title: str, names: list[str]) -> alt.Chart:
    return (
        alt.Chart(data, width=230, height=200, title=title)
        .mark_line(strokeWidth=1.5)
        .encode(
            alt.X("minute:Q", title="minutes"),
            alt.Y("value:Q", title=None, scale=alt.Scale(zero=True)),
            alt.Color("what:N", title=None, sort=names, legend=alt.Legend(orient="bottom")),
        )
    )
