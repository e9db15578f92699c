"""Tasks: data sets with gold labels, what a model answers, and how good that is.

`find_task("SST-2")` knows the task, `find_part` its files, `task.read` the examples, `task.prepare`
how a model reads them, `answer` what a model says, `task.scores` how good that is.
"""

from headscope.tasks.answering import answer
from headscope.tasks.data import DataOptions, Part, PartSource, find_part
from headscope.tasks.example import Answer, Example, Prepared, Split, gold_numbers
from headscope.tasks.metrics import METRICS, Metric, metric_named
from headscope.tasks.task import TASKS, Task, find_task

__all__ = [
    "METRICS",
    "TASKS",
    "Answer",
    "DataOptions",
    "Example",
    "Metric",
    "Part",
    "PartSource",
    "Prepared",
    "Split",
    "Task",
    "answer",
    "find_part",
    "find_task",
    "gold_numbers",
    "metric_named",
]
