"""Text from files nobody vouches for, made safe to look at.

Escaping keeps such text from becoming markup; this keeps it from playing tricks as text: turning
the direction of the line it stands in, hiding behind zero width, commanding a terminal, or filling
the page.
"""

from __future__ import annotations

import unicodedata

#: Joiners that Persian, Indic scripts and emoji need.
_NEEDED = {"\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}"}
LIMIT = 400


def plain_text(text: str, limit: int = LIMIT) -> str:
    r"""The text on one line, cut at `limit`, with invisible characters named.

    >>> plain_text("a\N{RIGHT-TO-LEFT OVERRIDE}b\x1b[31m\nc")
    'a⟨U+202E⟩b⟨U+001B⟩[31m c'
    >>> plain_text("long" * 10, limit=9)
    'longlong…'
    """
    text = str(text)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in ("Cc", "Cs") or (category == "Cf" and character not in _NEEDED):
        return f"⟨U+{ord(character):04X}⟩"
    return character
