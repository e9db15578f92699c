"""GLUE's tasks (Wang et al. 2019), in the files GLUE hands out and in their copies on the hub."""

from __future__ import annotations

from headscope.tasks.classification import Classification
from headscope.tasks.regression import Regression
from headscope.tasks.task import TASKS

_YES_NO = ("not_equivalent", "equivalent")
_ENTAILS = ("entailment", "not_entailment")

SST2 = Classification("sst2", "SST-2", labels=("0", "1"), names=("negative", "positive"))
MRPC = Classification("mrpc", "MRPC", metrics=("f1", "accuracy"), labels=("0", "1"), names=_YES_NO)
QQP = Classification("qqp", "QQP", metrics=("accuracy", "f1"), labels=("0", "1"), names=_YES_NO)
RTE = Classification("rte", "RTE", labels=_ENTAILS)
QNLI = Classification("qnli", "QNLI", labels=_ENTAILS)
MNLI = Classification("mnli", "MNLI", labels=("entailment", "neutral", "contradiction"))
STSB = Regression("stsb", "STS-B", low=0.0, high=5.0)

for task in (SST2, MRPC, QQP, RTE, QNLI, MNLI, STSB):
    TASKS.register(task.name)(task)
