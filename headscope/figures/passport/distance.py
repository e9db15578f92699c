"""How far a head looks (Guan et al. 2020)."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import rows_of, share_row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import read_heads
from headscope.figures.registered import RunLike

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]", "comma": "commas", "period": "periods", "self": "itself"}
N_WINDOWS = 16
WINDOWS = tuple(f"w{i:02}" for i in range(N_WINDOWS))


@section(
    "distance",
    title="How far it looks",
    tables=("distance",),
    order=40,
    note="Special tokens first, then the token itself, then all others by distance in sixteenths "
    "of the sequence.",
    layout="profile",
)
def distance(run: RunLike) -> Rows:
    """The 21 shares of a head, which sum to 1."""
    values = read_heads(run.table("distance"), what="feature", value="mean")
    return rows_of(values, names=(*SPECIAL, *WINDOWS), label=window_label, row=share_row)


def window_label(feature: str) -> str:
    """A feature for people.

    >>> window_label("cls"), window_label("w00"), window_label("w15")
    ('[CLS]', '0–1/16', '15/16–1')
    """
    if feature not in WINDOWS:
        return SPECIAL.get(feature, feature)
    i = WINDOWS.index(feature)
    end = "1" if i + 1 == N_WINDOWS else f"{i + 1}/{N_WINDOWS}"
    return f"{f'{i}/{N_WINDOWS}' if i else '0'}–{end}"
