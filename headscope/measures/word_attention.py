"""Word maps live in `headscope.models.word_attention`, where probes can use them too."""

from headscope.models.word_attention import (
    Rows,
    WordUnits,
    units_of,
    word_attention,
    word_pattern,
    word_units,
)

__all__ = ["Rows", "WordUnits", "units_of", "word_attention", "word_pattern", "word_units"]
