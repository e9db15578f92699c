"""Measured tables as dicts, so that tests read like sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.measures import Measure, Total
from headscope.models import LoadedModel
from headscope.types import Encoded

Rows = dict[tuple[Any, ...], dict[str, Any]]


@pytest.fixture(scope="session")
def measured() -> Callable[..., Rows]:
    """Run one measure over encoded sequences; rows by (layer, head, label)."""

    def run(
        model: LoadedModel,
        measure: Measure,
        encoded: Sequence[Encoded],
        label: str,
        batch_tokens: int = 4096,
        stack: str = "self",
    ) -> Rows:
        values = run_shard(model, [measure], encoded, Settings(batch_tokens=batch_tokens))
        total = Total(model.layout, {place: v for (_, place), v in values.items()})
        columns = measure.finish(total).tables[measure.name]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {(r["layer"], r["head"], r[label]): r for r in rows if r["stack"] == stack}

    return run
