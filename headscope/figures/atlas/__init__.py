"""The atlas: all heads of one run or several in a grid, and a passport for each.

Every analysis adds its part of the passport by one file, see `section`.
"""

from headscope.figures.atlas.passport import Passport, passport_of
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import PASSPORT, Rows, Section, section, sections_of

__all__ = [
    "PASSPORT",
    "Passport",
    "Row",
    "Rows",
    "Section",
    "passport_of",
    "section",
    "sections_of",
]
