"""Intervals and corrections: how sure a number is."""

from headscope.stats.corrections import benjamini_hochberg, holm
from headscope.stats.intervals import mean_interval, wilson_interval

__all__ = ["benjamini_hochberg", "holm", "mean_interval", "wilson_interval"]
