"""The rows of an ablation table, for charts and sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

from headscope.figures.wording import probability
from headscope.types import HeadId, Stack

#: Metrics that are better when they are lower.
LOWER_IS_BETTER = frozenset({"loss", "token_loss"})
METRIC_NAMES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "exact_match": "exact match",
    "answer_f1": "answer F1",
    "token_loss": "loss per token (nats)",
    "loss": "loss",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What one ablation does to one metric."""

    edit: str
    by: str
    head: HeadId | None
    layer: int | None
    group: str
    n_heads: int
    step: int
    metric: str
    baseline: float
    value: float
    delta: float
    low: float
    high: float
    q_value: float
    n: int

    @property
    def harm(self) -> float:
        """How much worse the metric is; negative where it is better."""
        return self.delta if self.metric in LOWER_IS_BETTER else -self.delta

    @property
    def sure(self) -> bool:
        """Whether the change is more than chance after correction."""
        return self.q_value <= 0.05

    @property
    def label(self) -> str:
        return str(self.head) if self.head is not None else self.group

    def told(self) -> str:
        """The change with its interval and its corrected p-value."""
        if math.isnan(self.low):
            return f"{self.delta:+.4g}"
        return (
            f"{self.delta:+.3g}, 95 % interval {self.low:+.3g} to {self.high:+.3g}, "
            f"{probability('q', self.q_value)}"
        )


def read_effects(table: Any) -> list[Effect]:
    """Every row; columns that an older table lacks are empty."""
    found = []
    for row in table.to_pylist():
        head = None
        if row.get("head") is not None and row.get("layer") is not None:
            head = HeadId(row["layer"], row["head"], cast("Stack", row.get("stack", "self")))
        found.append(
            Effect(
                edit=row["edit"],
                by=row.get("by") or ("head" if head else "group"),
                head=head,
                layer=row.get("layer"),
                group=row.get("group") or "",
                n_heads=int(row.get("n_heads") or 1),
                step=int(row.get("step") or 0),
                metric=row["metric"],
                baseline=_number(row["baseline"]),
                value=_number(row["value"]),
                delta=_number(row["delta"]),
                low=_number(row["ci_low"]),
                high=_number(row["ci_high"]),
                q_value=_number(row.get("q_value")),
                n=int(row["n"]),
            )
        )
    return found


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def metric_name(metric: str) -> str:
    """The metric as people write it."""
    return METRIC_NAMES.get(metric, metric)
