"""What a pass will do, known before it begins."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headscope.corpora import Corpus, Dropped, Encoder, TooLong
from headscope.engine.batches import width
from headscope.engine.progress import Progress
from headscope.engine.settings import Settings
from headscope.errors import UsageError
from headscope.measures import MEASURES, GradientMeasure, Measure
from headscope.models import LoadedModel
from headscope.models.language_head import no_head_by_name
from headscope.types import Encoded, Facts, FactsBuilder, Skipped


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


def encoded_shards(
    corpus: Corpus, encoder: Encoder, shard_size: int, skip: Iterable[int] = ()
) -> Iterator[tuple[int, list[Encoded | TooLong | Dropped]]]:
    """Shard after shard of the corpus, encoded; the ones in `skip` are passed over unencoded."""
    done = frozenset(skip)
    n_sequences = corpus.scan().n_sequences
    for index, start in enumerate(range(0, n_sequences, shard_size)):
        if index in done:
            continue
        stop = min(start + shard_size, n_sequences)
        yield index, list(encoder.encode_many(list(corpus.sequences(start, stop))))


def make_plan(corpus: Corpus, encoder: Encoder, settings: Settings, progress: Progress) -> Plan:
    """Encode everything once and keep only sizes and counts."""
    shards: list[Shard] = []
    counts: Counter[str] = Counter()
    longest = 0
    facts = FactsBuilder()
    digest = 0
    progress.stage("Reading the corpus", corpus.scan().n_sequences)
    for index, outcomes in encoded_shards(corpus, encoder, settings.shard_size):
        kept = [o for o in outcomes if isinstance(o, Encoded)]
        start = index * settings.shard_size
        n_tokens = sum(e.n_tokens for e in kept)
        shards.append(Shard(index, start, start + len(outcomes), len(kept), n_tokens))
        for one in kept:
            facts.add(one)
            digest = (digest + _tokens_key(one)) % (1 << 128)
        longest = max([longest, *(width(e) for e in kept)])
        counts["n_sequences"] += len(kept)
        counts["n_tokens"] += n_tokens
        counts["n_cut"] += sum(e.n_cut > 0 for e in kept)
        counts["n_cut_tokens"] += sum(e.n_cut for e in kept)
        counts["n_skipped_long"] += sum(isinstance(o, TooLong) for o in outcomes)
        counts["n_skipped_dropped"] += sum(isinstance(o, Dropped) for o in outcomes)
        progress.advance(len(outcomes), len(outcomes))
    if counts["n_sequences"] == 0:
        raise UsageError(
            f"none of the {sum(s.stop - s.start for s in shards)} sequences is left: "
            f"{counts['n_skipped_long']} are too long, {counts['n_skipped_dropped']} have words "
            "without tokens; try --long cut"
        )
    return Plan(tuple(shards), dict(counts), longest, facts.build(), f"{digest:032x}")


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
