"""One line of a head's passport: a number with what stands behind it, or words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from headscope.figures import wording
from headscope.figures.atlas.plain_text import plain_text
from headscope.types import HeadId

#: What a number counts: a share of 1, nats, a multiple of an even share, or a plain number.
Unit: TypeAlias = Literal["share", "nats", "times", "number"]

_FORMATS: Final = {
    "share": "{:.1%}",
    "nats": "{:.2f} nats",
    "times": "{:.2f} ×",
    "number": "{:.3g}",
}
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a passport.

    `number` has a `unit`, an interval from `low` to `high` and `n` observations; NaN is "no data".
    `full` is the number that fills the bar, None for no bar. `value` replaces the number's text,
    `text` is a second line (a p-value, a sentence). `strong` marks what is characteristic of the
    head: it is shown first and found by search, as are its `keywords`. `head` leads to another
    head. Text may come from anywhere: whoever shows a row escapes it.

    >>> row = Row("[SEP]", 0.625, low=0.6, high=0.65, n=80, full=1.0)
    >>> row.to_dict()["value"], row.to_dict()["interval"], row.to_dict()["bar"]
    ('62.5 %', '60.0–65.0 %', 0.625)
    >>> Row("[SEP]").to_dict()
    {'label': '[SEP]', 'value': 'no data'}
    """

    label: str
    number: float = math.nan
    unit: Unit = "share"
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    full: float | None = None
    value: str = ""
    text: str = ""
    strong: bool = False
    keywords: str = ""
    head: HeadId | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, without what is absent; all text is safe to look at, none is escaped."""
        fields: dict[str, Any] = {
            "label": plain_text(self.label, 120),
            "value": plain_text(self.value, 120) or self._number_text(),
            "interval": self._interval_text(),
            "n": self.n,
            "bar": self._share_of_bar(self.number),
            "bar_low": self._share_of_bar(self.low),
            "bar_high": self._share_of_bar(self.high),
            "number": _rounded(self.number),
            "unit": None if math.isnan(self.number) else self.unit,
            "text": plain_text(self.text),
            "strong": self.strong or None,
            "keywords": plain_text(self.keywords, 120),
            "head": None if self.head is None else str(self.head),
        }
        return {name: value for name, value in fields.items() if value not in (None, "")}

    def _number_text(self) -> str:
        if math.isnan(self.number):
            # a row of words has no number to miss
            return "" if self.text or self.head else wording.NO_DATA
        text = _FORMATS[self.unit].format(self.number)
        return text.replace("%", " %")

    def _interval_text(self) -> str:
        if math.isnan(self.low) or math.isnan(self.high):
            return ""
        if self.unit == "share":
            return wording.share_interval(self.low, self.high)
        return wording.amount_interval(self.low, self.high)

    def _share_of_bar(self, number: float) -> float | None:
        # a bar cannot show less than nothing; the number beside it does
        if self.full is None or not self.full > 0 or self.number < 0 or not math.isfinite(number):
            return None
        return round(min(max(number / self.full, 0.0), 1.0), _DIGITS)


def _rounded(number: float) -> float | None:
    return float(f"{number:.5g}") if math.isfinite(number) else None
