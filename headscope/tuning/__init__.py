"""Fine-tuning: from a model and a task's data to a folder with a tuned model."""

from headscope.tuning.finetune import Tuned, finetune
from headscope.tuning.options import TuningOptions

__all__ = ["Tuned", "TuningOptions", "finetune"]
