"""Tests, intervals and corrections: how sure a number is."""

from headscope.stats.bootstrap import bootstrap_p_value, skewness
from headscope.stats.corrections import benjamini_hochberg, holm
from headscope.stats.early_decision import asymptotic_upper, decide, log_bets, log_e_value
from headscope.stats.intervals import mean_interval, wilson_interval
from headscope.stats.mean_test import mean_test
from headscope.stats.paired import paired_p_value, percentile_interval, resamples

__all__ = [
    "asymptotic_upper",
    "benjamini_hochberg",
    "bootstrap_p_value",
    "decide",
    "holm",
    "log_bets",
    "log_e_value",
    "mean_interval",
    "mean_test",
    "paired_p_value",
    "percentile_interval",
    "resamples",
    "skewness",
    "wilson_interval",
]
