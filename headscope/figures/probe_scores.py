"""What probes found, out of the table `probe` and into charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from headscope.figures.head_values import HeadValue
from headscope.figures.registered import RunLike
from headscope.types import HeadId, Stack

#: SentEval's ten tasks as people call them, in the paper's order (Conneau et al. 2018).
LABELS: Final = {
    "sentence_length": "sentence length",
    "word_content": "word content",
    "tree_depth": "tree depth",
    "top_constituents": "top constituents",
    "bigram_shift": "bigram shift",
    "past_present": "tense",
    "subj_number": "subject number",
    "obj_number": "object number",
    "odd_man_out": "odd man out",
    "coordination_inversion": "coordination inversion",
}
#: Metrics that are shares; correlations are not.
SHARES: Final = ("accuracy", "f1")


def task_label(name: str) -> str:
    """A task's name for people.

    >>> task_label("subj_number"), task_label("MRPC"), task_label("my_task")
    ('subject number', 'MRPC', 'my task')
    """
    return LABELS.get(name, name.replace("_", " "))


def in_order(names: Iterable[str]) -> list[str]:
    """SentEval's tasks in the paper's order, then the others in theirs."""
    known = list(LABELS)
    return sorted(dict.fromkeys(names), key=lambda n: known.index(n) if n in known else len(known))


@dataclass(frozen=True, slots=True)
class Score:
    """One row: a head, a layer or several heads on one task, by the task's first metric.

    `chance` is what probes of shuffled labels score, averaged over all probes of the task, or
    where there are none the most frequent class.
    """

    task: str
    representation: str
    stack: Stack
    layer: int | None
    head: int | None
    n_heads: int | None
    metric: str
    validation: float
    test: float
    low: float
    high: float
    chance: float
    q_value: float
    n: int

    @property
    def gain(self) -> float:
        return self.test - self.chance

    @property
    def standing(self) -> float:
        """What it is chosen by: its validation score, no data last."""
        return -math.inf if math.isnan(self.validation) else self.validation

    @property
    def sure(self) -> bool:
        return self.q_value <= 0.05

    def head_value(self) -> HeadValue:
        """The head's gain over chance, with its interval."""
        head = HeadId(self.layer or 0, self.head or 0, self.stack)
        ends = self.low - self.chance, self.high - self.chance
        return HeadValue(head, self.task, self.gain, *ends, self.n)


def read_scores(table: Any, about: Any) -> list[Score]:
    """The rows of a table `probe` that are of its tasks' first metrics."""
    tasks = {row["task"]: row for row in about.to_pylist()}
    chances = _chances(table, tasks)
    found = []
    for row in table.to_pylist():
        task = tasks.get(row["task"])
        if task is None or row["metric"] != task["metric"]:
            continue
        found.append(
            Score(
                task=row["task"],
                representation=row["representation"],
                stack=cast("Stack", row["stack"]),
                layer=row["layer"],
                head=row["head"],
                n_heads=row["n_heads"],
                metric=row["metric"],
                validation=_number(row["validation"]),
                test=_number(row["test"]),
                low=_number(row.get("ci_low")),
                high=_number(row.get("ci_high")),
                chance=chances[row["task"]],
                q_value=_number(row.get("q_value")),
                n=int(row.get("n") or 0),
            )
        )
    return found


def _chances(table: Any, tasks: Mapping[str, Any]) -> dict[str, float]:
    """What shuffled labels score on each task: one number, because a few shuffles are noisy."""
    drawn: dict[str, list[float]] = {}
    for row in table.to_pylist():
        control = _number(row.get("control"))
        if not math.isnan(control):
            drawn.setdefault(row["task"], []).append(control)
    chances = {}
    for name, task in tasks.items():
        known = drawn.get(name)
        chance = sum(known) / len(known) if known else _number(task["chance"])
        chances[name] = 0.0 if math.isnan(chance) else chance
    return chances


def scores_of(run: RunLike) -> list[Score]:
    """The scores of a run."""
    return read_scores(run.table("probe"), run.table("probe_tasks"))


def plain_width(scores: Sequence[Score]) -> int:
    """The number of heads of a layer: so many together are as wide as a layer."""
    return 1 + max((s.head or 0 for s in scores if s.representation == "head"), default=0)


def pick(
    scores: Sequence[Score], task: str, representation: str, n_heads: int | None = None
) -> Score | None:
    """The only score of its kind; None if there is none."""
    for s in scores:
        if (s.task, s.representation) == (task, representation) and n_heads in (None, s.n_heads):
            return s
    return None


def shown(score: float, metric: str) -> str:
    """A score as people write it: shares in percent, correlations as they are.

    >>> shown(0.764, "accuracy"), shown(0.764, "pearson"), shown(float("nan"), "f1")
    ('76.4 %', '0.764', 'no data')
    """
    if math.isnan(score):
        return "no data"
    return f"{score * 100:.1f} %" if metric in SHARES else f"{score:.3f}"


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
