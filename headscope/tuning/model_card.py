"""What a tuned model says about itself to people: README.md with the hub's front matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def model_card(
    name: str, base: str, title: str, request: Mapping[str, Any], result: Mapping[str, Any]
) -> str:
    """The text of a model card: what it was made from, how, and how good it is."""
    scores = "\n".join(f"| {metric} | {value:.4f} |" for metric, value in result["dev"].items())
    settings = "\n".join(f"| {key} | {value} |" for key, value in request["options"].items())
    counts = result["counts"]
    return f"""---
library_name: transformers
base_model: {base}
tags:
- headscope
---

# {name}

{base}, fine-tuned on {title} with headscope {request["headscope"]}.

| dev ({counts["n_dev"]} examples) | |
|---|---|
{scores}

Trained on {counts["n_train"]} examples ({counts["n_train_cut"]} of them cut to
{request["max_tokens"]} tokens, {counts["n_train_skipped"]} left out), {result["steps"]} steps.
{_chosen(request, result)}

| setting | |
|---|---|
{settings}

The dev split had no part in the training or in the choice of weights. Made for looking at
attention heads, on a part of the data: do not expect published figures.
"""


def _chosen(request: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    if request["options"]["patience"] is None:
        return "The weights are those after the last step."
    return f"The weights are the best on {result['counts']['n_held_out']} held-out training rows."
