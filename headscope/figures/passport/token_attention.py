"""What kinds of words a head attends to (Kovaleva et al. 2019, §4.2–4.4)."""

from __future__ import annotations

from typing import Any

from headscope.figures.atlas.head_rows import head_records, largest, number, rows_of, share_row
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import read_heads
from headscope.figures.registered import RunLike
from headscope.figures.token_kinds import KINDS, LINKS
from headscope.figures.wording import percent, probability


@section(
    "features",
    title="Words it attends to",
    tables=("features",),
    order=72,
    note="The mean weight on the word of a kind that gets most, over sequences that have one.",
)
def features(run: RunLike) -> Rows:
    """Attention to nouns, verbs, subjects and more."""
    return rows_of(
        read_heads(run.table("features"), what="feature", value="mean"),
        names=tuple(KINDS),
        label=lambda name: KINDS.get(name, name),
        row=share_row,
    )


@section(
    "links",
    title="Links between words",
    tables=("links",),
    order=74,
    note="The weight from one word of a pair to the other.",
)
def links(run: RunLike) -> Rows:
    """Verb to subject, pronoun to noun, and back."""
    return rows_of(
        read_heads(run.table("links"), what="link", value="mean"),
        names=tuple(LINKS),
        label=lambda name: LINKS.get(name, name.replace("_", " ")),
        row=share_row,
    )


@section("cls_row", title="What [CLS] attends to", tables=("cls_row",), order=76)
def cls_row(run: RunLike) -> Rows:
    """The share of the [CLS] row that every kind of token gets."""
    return rows_of(
        read_heads(run.table("cls_row"), what="target", value="mean"),
        names=tuple(KINDS),
        label=lambda name: KINDS.get(name, name),
        row=share_row,
    )


@section(
    "frames",
    title="Frames",
    tables=("frames",),
    order=78,
    note="The largest weight between a word that evokes a frame and one of its core elements.",
)
def frames(run: RunLike) -> Rows:
    """Mean of the largest weight per sentence, against random pairs at the same distance."""
    rows = head_records(run.table("frames"))
    full = largest(number(row["mean_max"]) for _, row in rows)
    return {head: [_frame_row(row, full)] for head, row in rows}


def _frame_row(row: dict[str, Any], full: float | None) -> Row:
    even, p, q = (number(row.get(name)) for name in ("baseline", "p_value", "q_value"))
    tested = f", {probability('p', p)}, {probability('q', q)}" if p == p else ""
    return Row(
        "word and element",
        number(row["mean_max"]),
        low=number(row.get("ci_low")),
        high=number(row.get("ci_high")),
        n=row["n"],
        full=full,
        text=f"random pairs {percent(even)}{tested}" if even == even else "",
        strong=bool(row.get("above")),
        keywords="frame",
    )
