"""All default measures beside a small model's own forward pass, on short texts.

Where the model itself does little, what is done for every batch and layer weighs most.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.lines.pass_cost import FACTS, SETTINGS
from bench.ratio import Line, compared
from bench.subject import annotated, bare_pass, sequences
from headscope.engine import choose_measures
from headscope.engine.shard import run_shard
from headscope.models import load


def lines() -> Iterator[Line]:
    model, encoded = load("default"), [annotated(e) for e in sequences(280, 29)]
    measures = [m for m in choose_measures() if m.needs <= {"words", "dependencies"}]

    def ours() -> None:
        run_shard(model, measures, encoded, SETTINGS, FACTS)

    yield compared(
        f"analyze ({len(measures)} default measures, with trees) / MiniLM's own forward pass "
        "(scaled dot product attention), 29 tokens",
        ours,
        lambda: bare_pass(model, encoded),
        1.50,
    )
