"""Ablations: what a model can no longer do when some of its heads are switched off."""

from headscope.ablations.ablation import Ablation
from headscope.ablations.effects import effects, interactions
from headscope.ablations.selection import BY, Groups, choose
from headscope.ablations.sweep import Sweep

__all__ = ["BY", "Ablation", "Groups", "Sweep", "choose", "effects", "interactions"]
