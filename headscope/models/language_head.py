"""Which language-model head a checkpoint may have, and why some have none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

LanguageHead: TypeAlias = Literal["masked-lm", "causal-lm"]

_ENDINGS: dict[str, LanguageHead] = {
    "ForMaskedLM": "masked-lm",
    "ForPreTraining": "masked-lm",
    "ForCausalLM": "causal-lm",
    "LMHeadModel": "causal-lm",
}


def language_head(config: Any) -> LanguageHead | None:
    """The head to try for a checkpoint; whether its weights are there is for loading to find out.

    The architecture's name decides. A name that says nothing (a head of the author's own) leaves
    it to the family: masked where the library has a masked model of it, else causal.

    >>> from transformers import BertConfig, LlamaConfig
    >>> language_head(BertConfig(architectures=["BertForMaskedLM"]))
    'masked-lm'
    >>> language_head(LlamaConfig(architectures=["LlamaForCausalLM"]))
    'causal-lm'
    >>> language_head(BertConfig(architectures=["BertModel"])) is None
    True
    """
    if no_head_by_name(config):
        return None
    named = head_by_name(_architectures(config))
    if named is not None:
        return named
    from transformers.models.auto import modeling_auto

    family = getattr(config, "model_type", "")
    if family in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "masked-lm"
    return "causal-lm" if family in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES else None


def head_by_name(names: Iterable[str]) -> LanguageHead | None:
    """The head that the name of a model's class tells.

    >>> head_by_name(["GPT2LMHeadModel"]), head_by_name(["GPT2Model"])
    ('causal-lm', None)
    """
    found = (head for name in names for end, head in _ENDINGS.items() if name.endswith(end))
    return next(found, None)


def no_head_by_name(config: Any) -> str:
    """Why a checkpoint has no language-model head, as far as its config tells; else "".

    >>> from transformers import BertConfig
    >>> no_head_by_name(BertConfig(architectures=["BertModel"]))
    'its checkpoint is a BertModel, without a language-model head'
    """
    if getattr(config, "is_encoder_decoder", False):
        return "the loss of encoder–decoder models is not among those that are known here"
    names = _architectures(config)
    if names and all(name.endswith("Model") and not name.endswith("LMHeadModel") for name in names):
        return f"its checkpoint is a {names[0]}, without a language-model head"
    other = [name for name in names if "For" in name and not name.endswith(tuple(_ENDINGS))]
    if other and len(other) == len(names):
        return f"its checkpoint is a {other[0]}, whose head is for another task"
    return ""


def _architectures(config: Any) -> list[str]:
    return [str(name) for name in getattr(config, "architectures", None) or ()]
