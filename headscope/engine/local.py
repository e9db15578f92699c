"""The local engine: one process, shard after shard."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.corpora import Corpus, Encoder
from headscope.engine.checkpoint import load_values, save_values
from headscope.engine.early_stopping import Watch
from headscope.engine.plan import Plan, encoded_shards
from headscope.engine.progress import Progress
from headscope.engine.settings import Settings
from headscope.engine.shard import run_shard
from headscope.measures import Measure
from headscope.models import LoadedModel
from headscope.store import RunWriter
from headscope.types import Encoded


def run_local(
    model: LoadedModel,
    measures: Sequence[Measure],
    corpus: Corpus,
    encoder: Encoder,
    plan: Plan,
    settings: Settings,
    writer: RunWriter,
    progress: Progress,
    watch: Watch | None = None,
) -> int:
    """Compute every shard that has no checkpoint yet and save its values; how many there are.

    With a `watch` the pass ends after the first shard at which it says so, and what a checkpoint
    holds is shown to it as well, so that a resumed pass stops where an uninterrupted one does.
    """
    done = writer.finished_shards()
    progress.stage("Looking at heads", plan.n_tokens)
    for shard in plan.shards:
        if shard.index in done:
            progress.advance(shard.n_tokens, shard.n_sequences)

    def advance(n_sequences: int, n_tokens: int) -> None:
        progress.advance(n_tokens, n_sequences)

    todo = encoded_shards(corpus, encoder, settings.shard_size, skip=done)
    for shard in plan.shards:
        if shard.index not in done:
            index, outcomes = next(todo)
            kept = [o for o in outcomes if isinstance(o, Encoded)]
            values = run_shard(model, measures, kept, settings, plan.facts, advance)
            save_values(writer, index, values)
        elif watch is not None:
            values = load_values(writer, shard.index)
        if watch is not None and watch.add(values):
            return shard.index + 1
    return len(plan.shards)
