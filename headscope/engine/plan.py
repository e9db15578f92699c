"""What a pass will do, known before it begins."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from headscope.corpora import Corpus, Dropped, Encoder, TooLong
from headscope.engine.batches import width
from headscope.engine.executor import Advance, Executor, Item, Packed, in_order
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.progress import Progress
from headscope.engine.settings import Settings
from headscope.errors import UsageError
from headscope.measures import MEASURES, GradientMeasure, Measure
from headscope.models import LoadedModel
from headscope.models.language_head import no_head_by_name
from headscope.types import Encoded, Facts, FactsBuilder, Skipped
from headscope.types import Sequence as Text


@dataclass(frozen=True, slots=True)
class Shard:
    """Sequences `start` up to and without `stop` of the corpus; tokens of those that are kept."""

    index: int
    start: int
    stop: int
    n_sequences: int
    n_tokens: int


@dataclass(frozen=True)
class Plan:
    """The shards of a pass and what was cut or left out on the way to them.

    Making a plan encodes the whole corpus once, so that whatever is wrong with a file is found
    before any work is done and anything is written.
    """

    shards: tuple[Shard, ...]
    counts: dict[str, int]
    longest: int
    facts: Facts
    tokens_digest: str = ""

    @property
    def n_tokens(self) -> int:
        return sum(shard.n_tokens for shard in self.shards)


def encoder_for(
    model: LoadedModel,
    *,
    max_tokens: int | None = None,
    long: Literal["cut", "skip"] = "cut",
    dropped: Literal["refuse", "skip"] = "refuse",
) -> Encoder:
    """The encoder that suits a model; `max_tokens` can only lower the model's own limit."""
    if max_tokens is not None and max_tokens > model.max_tokens:
        raise UsageError(
            f"--max-tokens {max_tokens}: {model.name} takes at most {model.max_tokens} tokens"
        )
    options: dict[str, Any] = {}
    if model.is_encoder_decoder:
        options["decoder"] = True
        options["decoder_start_token_id"] = model.decoder_start_id
    return Encoder(
        model.tokenizer,
        max_tokens=max_tokens or model.max_tokens,
        long=long,
        dropped=dropped,
        **options,
    )


def make_plan(
    corpus: Corpus,
    encoder: Encoder,
    settings: Settings,
    progress: Progress,
    executor: Executor | None = None,
) -> Plan:
    """Encode everything once, wherever the engine's workers are, and keep only sizes and counts."""
    executor = executor or LocalExecutor()
    n_sequences, size = corpus.scan().n_sequences, settings.shard_size
    starts = range(0, n_sequences, size)

    def items() -> Iterator[Item]:
        for index, start in enumerate(starts):
            texts = list(corpus.sequences(start, min(start + size, n_sequences)))
            yield Item(index, texts, len(texts), len(texts))

    shards: list[Shard] = []
    counts: Counter[str] = Counter()
    longest = digest = 0
    facts = FactsBuilder()
    progress.stage("Reading the corpus", n_sequences)
    results = executor.map(PlanJob(encoder), items(), progress)
    for index, (arrays, told) in enumerate(in_order(results, count())):
        found, start = told["counts"], starts[index]
        stop = start + told["n_read"]
        shards.append(Shard(index, start, stop, found["n_sequences"], found["n_tokens"]))
        counts.update(found)
        facts.merge(arrays["token_counts"], told["word_counts"], found["n_sequences"])
        longest = max(longest, told["longest"])
        digest = (digest + int(told["digest"], 16)) % (1 << 128)
    if counts["n_sequences"] == 0:
        raise UsageError(
            f"none of the {sum(s.stop - s.start for s in shards)} sequences is left: "
            f"{counts['n_skipped_long']} are too long, {counts['n_skipped_dropped']} have words "
            "without tokens; try --long cut"
        )
    return Plan(tuple(shards), dict(counts), longest, facts.build(), f"{digest:032x}")


@dataclass(frozen=True, eq=False)
class PlanJob:
    """Texts in; out comes how many tokens they have, what is cut or left out, and their facts."""

    encoder: Encoder

    def run(self, work: Sequence[Text], advance: Advance) -> Packed:
        outcomes = list(self.encoder.encode_many(work))
        kept = [one for one in outcomes if isinstance(one, Encoded)]
        facts = FactsBuilder()
        for one in kept:
            facts.add(one)
        known = facts.build()
        told = {
            "n_read": len(outcomes),
            "longest": max((width(one) for one in kept), default=0),
            "digest": f"{sum(map(_tokens_key, kept)) % (1 << 128):032x}",
            "word_counts": dict(known.word_counts),
            "counts": {
                "n_sequences": len(kept),
                "n_tokens": sum(one.n_tokens for one in kept),
                "n_cut": sum(one.n_cut > 0 for one in kept),
                "n_cut_tokens": sum(one.n_cut for one in kept),
                "n_skipped_long": sum(isinstance(one, TooLong) for one in outcomes),
                "n_skipped_dropped": sum(isinstance(one, Dropped) for one in outcomes),
            },
        }
        advance(len(outcomes), len(outcomes))
        return {"token_counts": known.token_counts}, told


def _tokens_key(encoded: Encoded) -> int:
    """A number for a sequence and its tokens; their sum is the same in every order."""
    key = hashlib.blake2b(encoded.sequence.id.encode("utf-8", "surrogatepass"), digest_size=16)
    key.update(encoded.input_ids.tobytes())
    return int.from_bytes(key.digest(), "big")


def applicable(
    measures: Sequence[Measure], annotations: dict[str, int], model: LoadedModel
) -> tuple[list[Measure], list[Skipped]]:
    """The measures a corpus has the annotations for and the model the head, and the others.

    Whoever asks for the default measures also hears of those that are not among them.
    """
    run: list[Measure] = []
    skipped = list(_not_asked_for(measures, model))
    for measure in measures:
        missing = sorted(need for need in measure.needs if not annotations.get(need))
        if isinstance(measure, GradientMeasure) and model.no_loss:
            skipped.append(Skipped(measure.name, _no_loss(model)))
        elif missing:
            reason = f"the corpus has no {' and no '.join(missing)}"
            skipped.append(Skipped(measure.name, reason))
        else:
            run.append(measure)
    if not run:
        reasons = "; ".join(f"{s.name}: {s.reason}" for s in skipped)
        raise UsageError(f"nothing to measure ({reasons or 'no measure was named'})")
    return run, skipped


def _not_asked_for(measures: Sequence[Measure], model: LoadedModel) -> Iterator[Skipped]:
    names = {measure.name for measure in measures}
    if not all(name in names for name, kind in MEASURES.items() if kind.default):
        return
    for name, kind in MEASURES.items():
        if name not in names:
            hopeless = issubclass(kind, GradientMeasure) and no_head_by_name(model.config)
            reason = f"it runs only when asked for; --measures {name} or --measures all"
            yield Skipped(name, _no_loss(model) if hopeless else reason)


def _no_loss(model: LoadedModel) -> str:
    return f"{model.name} has no loss of its own: {model.no_loss}"
