"""A shard of a pass as work for any engine, and the pass as a run of such shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headscope.corpora import Corpus, Encoder
from headscope.engine.checkpoint import load_values, packed
from headscope.engine.early_stopping import Watch
from headscope.engine.executor import Advance, Executor, Item, Job, Packed
from headscope.engine.plan import Plan
from headscope.engine.progress import Progress
from headscope.engine.settings import Settings
from headscope.engine.shard import run_shard
from headscope.measures import Measure
from headscope.measures.roles import ROLES, Role
from headscope.models import LoadedModel
from headscope.store import RunWriter
from headscope.types import Encoded, Facts
from headscope.types import Sequence as Text


def users_roles() -> tuple[Role, ...]:
    """The roles that came from a user's file: another process does not know them."""
    return tuple(role for role in ROLES.values() if role.origin)


@dataclass(frozen=True, eq=False)
class ShardJob:
    """Texts in, the values of all measures out."""

    model: LoadedModel
    measures: Sequence[Measure]
    encoder: Encoder
    settings: Settings
    facts: Facts
    roles: tuple[Role, ...] = field(default_factory=users_roles)

    def run(self, work: Sequence[Text], advance: Advance) -> Packed:
        for role in self.roles:
            if role.name not in ROLES:
                ROLES.register(role.name)(role)
        kept = [one for one in self.encoder.encode_many(work) if isinstance(one, Encoded)]
        values = run_shard(
            self.model, self.measures, kept, self.settings, self.facts, lambda s, t: advance(t, s)
        )
        return packed(values)


def run_shards(
    executor: Executor,
    job: Job,
    corpus: Corpus,
    plan: Plan,
    writer: RunWriter,
    progress: Progress,
    *,
    title: str = "Looking at heads",
    watch: Watch | None = None,
) -> int:
    """Compute every shard that has no checkpoint yet and save its values; how many there are.

    With a `watch` the pass ends after the first shard at which it says so. It is shown the shards
    in their order, also those of an earlier attempt, so that every engine, and a resumed pass,
    stops where an uninterrupted local one does.
    """
    done = writer.finished_shards()
    progress.stage(title, plan.n_tokens)
    for shard in plan.shards:
        if shard.index in done:
            progress.advance(shard.n_tokens, shard.n_sequences)

    def items() -> Iterator[Item]:
        for shard in plan.shards:
            if shard.index not in done:
                texts = list(corpus.sequences(shard.start, shard.stop))
                yield Item(shard.index, texts, shard.n_tokens, shard.n_sequences)

    saved, n_shown = set(done), 0

    def enough() -> bool:
        nonlocal n_shown
        while watch is not None and n_shown in saved:
            n_shown += 1
            if watch.add(load_values(writer, n_shown - 1)):
                return True
        return False

    if enough():
        return n_shown
    for index, found in executor.map(job, items(), progress):
        writer.save_shard(index, *found)
        saved.add(index)
        if enough():
            return n_shown
    return len(plan.shards)
