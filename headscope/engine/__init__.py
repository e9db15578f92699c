"""Engines: the streaming pass from a corpus to a run."""

from headscope.engine.analyze import analyze, choose_measures, head_for
from headscope.engine.progress import Progress, Silent
from headscope.engine.settings import Settings
from headscope.engine.until_decided import UntilDecided

__all__ = [
    "Progress",
    "Settings",
    "Silent",
    "UntilDecided",
    "analyze",
    "choose_measures",
    "head_for",
]
