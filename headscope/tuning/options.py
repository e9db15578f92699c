"""How a model is fine-tuned."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TuningOptions(BaseModel):
    """The papers' settings (Devlin et al. 2019, appendix A.3): batch 32, 2e-5, three epochs.

    Without `patience` every epoch is run and the last weights are taken, as the papers do. With it
    a held-out part of the training data says when to stop and which weights are best; the dev
    split has no say in it.

    >>> TuningOptions().learning_rate
    2e-05
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: float = Field(3.0, gt=0, description="times the training data are seen")
    batch_size: int = Field(32, ge=1, description="examples in a step")
    learning_rate: float = Field(2e-5, gt=0, description="the highest one, after warming up")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps in which it rises")
    weight_decay: float = Field(0.01, ge=0, description="AdamW's")
    seed: int = Field(0, ge=0, description="of the new head, the order and the dropout")
    patience: int | None = Field(None, ge=1, description="looks without gain before stopping")
    held_out: float = Field(0.1, gt=0, lt=1, description="share of train that says when to stop")
    looks: int = Field(2, ge=1, description="looks at the held-out part in an epoch")
    save_every: int = Field(200, ge=1, description="steps between checkpoints")
    max_tokens: int | None = Field(None, ge=2, description="longest input; by default the task's")
