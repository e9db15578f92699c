"""Question answering, language modelling, and the user's own labelled texts."""

from __future__ import annotations

from headscope.tasks.classification import Classification
from headscope.tasks.language import LanguageModelling
from headscope.tasks.questions import Questions
from headscope.tasks.regression import Regression
from headscope.tasks.task import TASKS

SQUAD = Questions("squad", "SQuAD")
MASKED_LM = LanguageModelling("masked_lm", "masked language modelling", "masked-lm")
CAUSAL_LM = LanguageModelling("causal_lm", "causal language modelling", "causal-lm")
CLASSIFICATION = Classification("classification", "classification")
REGRESSION = Regression("regression", "regression")

for task in (SQUAD, MASKED_LM, CAUSAL_LM, CLASSIFICATION, REGRESSION):
    TASKS.register(task.name)(task)
