"""Whole numbers in files: indices and offsets, never larger than any text."""

from __future__ import annotations

_MAX_DIGITS = 9


def whole_number(text: str) -> int | None:
    """The number, or None if it is none: a sign, digits of other scripts, too many digits.

    >>> whole_number("12"), whole_number("-1"), whole_number("²"), whole_number("9" * 5000)
    (12, None, None, None)
    """
    good = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if good else None
