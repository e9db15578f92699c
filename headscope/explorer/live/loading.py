"""The model with whatever head its checkpoint has, so that there is something to predict."""

from __future__ import annotations

from typing import Any

from headscope.models import LoadedModel, load


def load_with_head(name: str, **options: Any) -> LoadedModel:
    """A model with its language-model head or its classifier; without either, the body alone."""
    loaded = load(name, head="lm", **options)
    names = [str(n) for n in getattr(loaded.config, "architectures", None) or ()]
    if loaded.head == "base" and any(n.endswith("ForSequenceClassification") for n in names):
        return load(name, head="sequence-classification", **options)
    return loaded
