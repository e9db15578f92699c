"""Measures: one quantity of heads per file."""

from headscope.measures.measure import (
    ALL_LAYERS,
    MEASURES,
    GradientMeasure,
    LayerMeasure,
    Measure,
    Place,
    StackMeasure,
    Total,
    build,
    rebuild,
)

__all__ = [
    "ALL_LAYERS",
    "MEASURES",
    "GradientMeasure",
    "LayerMeasure",
    "Measure",
    "Place",
    "StackMeasure",
    "Total",
    "build",
    "rebuild",
]
