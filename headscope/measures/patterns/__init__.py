"""The shape of attention maps: vertical, diagonal, both, block, heterogeneous.

`classes` names the shapes, `synthetic` draws maps of known shape, `network` and `training` learn
from them, `sampling` and `labelled_maps` hold real maps labelled by eye, `evaluation` compares,
and `pattern_shares` is the measure.
"""

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.pattern_shares import PatternShares

__all__ = ["PATTERNS", "PatternShares"]
