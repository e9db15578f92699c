"""Do heads with a role matter more than heads without?"""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO

NOTE = (
    "The mean size of the change of the loss when a head is switched off, of heads with a role and "
    "of all other heads. p-values come from shuffling roles within layers, so that depth alone "
    "cannot make a difference, and are corrected over roles (q). Roles describe where a head looks "
    "on one corpus, the loss what one task needs: a role without effect may serve another task."
)


@figure("role_effect", tables=("role_effect",), order=94)
def role_effect(run: RunLike) -> Picture:
    """Two points per role, joined: with and without it."""
    rows = [
        row
        for row in run.table("role_effect").to_pylist()
        if row["difference"] is not None and math.isfinite(row["difference"])
    ]
    points: list[dict[str, Any]] = [
        {
            "role": f"{row['role']} ({row['n_with']})",
            "heads": side,
            "value": row[key],
            "n": row[count],
        }
        for row in rows
        for side, key, count in (
            ("with the role", "mean_with", "n_with"),
            ("all others", "mean_without", "n_without"),
        )
    ]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        y=alt.Y("role:N", title=None, sort=None, axis=alt.Axis(labelLimit=200))
    )
    chart = alt.layer(
        base.mark_line(style="reference").encode(
            x=alt.X("value:Q", title="mean |change of the loss|"), detail="role:N"
        ),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=alt.X("value:Q", title="mean |change of the loss|"),
            color=alt.Color(
                "heads:N",
                scale=alt.Scale(
                    domain=["with the role", "all others"],
                    range=[OKABE_ITO["vermillion"], OKABE_ITO["blue"]],
                ),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=[
                alt.Tooltip("role:N"),
                alt.Tooltip("heads:N"),
                alt.Tooltip("value:Q", format=".4f"),
                alt.Tooltip("n:Q", title="number of heads"),
            ],
        ),
        width=380,
        height=max(80, 22 * len(rows)),
        title={
            "text": "Do heads with a role matter more?",
            "subtitle": "in brackets the number of heads with the role",
        },
    )
    sentence = found(rows)
    return Picture(
        title="Whether heads with a role matter more",
        sentence=sentence,
        chart=chart,
        alt=f"Mean effect of heads with and without each role. {sentence}",
        note=NOTE,
        table=_table(rows),
        prominence=9,
    )


def found(rows: list[dict[str, Any]]) -> str:
    """The answer for having any role at all, and the role that makes the largest difference."""
    if not rows:
        return "Every head has a role, or none has: nothing to compare."
    parts = []
    whole = next((row for row in rows if row["role"] == "any role"), None)
    if whole is not None:
        verdict = "matter more" if whole["p_value"] <= 0.05 else "do not matter more than chance"
        parts.append(
            f"Heads with a role {verdict}: switching one off changes the loss by "
            f"{whole['mean_with']:.4f} on average, one of the {whole['n_without']} others by "
            f"{whole['mean_without']:.4f} ({wording.probability('p', whole['p_value'])} within "
            f"layers, {wording.plural(whole['n_with'], 'head')} with a role)"
        )
    others = [row for row in rows if row["role"] != "any role"]
    sure = [row for row in others if row["q_value"] <= 0.05]
    if sure:
        most = max(sure, key=lambda row: row["difference"])
        parts.append(
            f"of single roles {most['role']} matters most ({most['mean_with']:.4f} against "
            f"{most['mean_without']:.4f}, {wording.probability('q', most['q_value'])})"
        )
    elif others:
        parts.append("no single role matters more than chance after correction")
    return wording.capital("; ".join(parts)) + "."


def _table(rows: list[dict[str, Any]]) -> Table:
    return Table(
        ("role", "heads", "mean |Δloss| with", "others", "p", "q"),
        tuple(
            (
                row["role"],
                str(row["n_with"]),
                f"{row['mean_with']:.4f}",
                f"{row['mean_without']:.4f}",
                f"{row['p_value']:.4f}",
                f"{row['q_value']:.4f}",
            )
            for row in rows
        ),
    )
