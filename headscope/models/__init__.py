"""Models: loading them, tapping their attention, editing it."""

from headscope.models.batch import Batch, Tokens, collate
from headscope.models.describe import TESTED_FAMILIES, describe
from headscope.models.edit import EDITS, Edit, Site, head_set
from headscope.models.language_loss import LanguageLoss, sequence_losses
from headscope.models.layout import Layout, StackLayout
from headscope.models.loaded_model import LoadedModel
from headscope.models.loading import DEFAULT, load
from headscope.models.tap import Tap
from headscope.models.view import View

__all__ = [
    "DEFAULT",
    "EDITS",
    "TESTED_FAMILIES",
    "Batch",
    "Edit",
    "LanguageLoss",
    "Layout",
    "LoadedModel",
    "Site",
    "StackLayout",
    "Tap",
    "Tokens",
    "View",
    "collate",
    "describe",
    "head_set",
    "load",
    "sequence_losses",
]
