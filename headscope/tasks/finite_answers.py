"""Answers that are no numbers are refused: the largest of several NaN is a class all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from headscope.errors import ModelError
from headscope.tasks.example import Prepared

_PER_TOKEN = ("start_logits", "end_logits")


def check_answers(output: Any, real: Bool[Tensor, "batch token"], part: Sequence[Prepared]) -> None:
    """ModelError if any score of a real token, or of an example, is not finite.

    A single sum finds NaN and inf; only where it does, is it looked for.
    """
    broken = torch.zeros(len(part), dtype=torch.bool)
    for name in ("logits", *_PER_TOKEN):
        scores = getattr(output, name, None)
        if scores is None or bool(scores.sum().isfinite()):
            continue
        fine = scores.isfinite()
        if name in _PER_TOKEN or scores.ndim == 3:
            fine = fine if fine.ndim == 2 else fine.all(dim=2)
            fine = fine | ~real
        broken |= ~fine.all(dim=1).cpu()
    if not broken.any():
        return
    ids = [one.encoded.sequence.id for one, bad in zip(part, broken.tolist(), strict=True) if bad]
    raise ModelError(
        f"the model's answers to {len(ids)} of {len(part)} examples are not finite (first: "
        f"{ids[0]}). The weights may be damaged, or the numbers too large for their type"
    )
