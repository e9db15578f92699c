"""Engines: the streaming pass from a corpus to a run."""

from headscope.engine.analyze import analyze, choose_measures, head_for
from headscope.engine.progress import Progress, Silent
from headscope.engine.settings import Settings

__all__ = ["Progress", "Settings", "Silent", "analyze", "choose_measures", "head_for"]
