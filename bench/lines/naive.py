"""The papers' quantities beside the loops their descriptions suggest, on the same maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from bench.naive.divergence import divergence
from bench.naive.entropy import entropy
from bench.naive.parsing import parsing
from bench.naive.sieve import SIEVES, sieve
from bench.naive.stored import Stored, stored
from bench.naive.surface import surface
from bench.naive.words import merged
from bench.ratio import Line, compared
from bench.subject import annotated, bert_base, sequences
from headscope.measures import LayerMeasure, StackMeasure, build
from headscope.models.word_attention import word_pattern


def lines() -> Iterator[Line]:
    maps = stored(bert_base(2), [annotated(e) for e in sequences(8, 128)])
    roles = ",".join(SIEVES)
    yield _line("surface", maps, lambda: [surface(m, e) for m, e in _each(maps)], build("surface"))
    yield _line("entropy", maps, lambda: [entropy(m) for m in maps.maps], build("entropy"))
    yield _line(
        f"sieve scores ({len(SIEVES)} roles)",
        maps,
        lambda: [sieve(m, e) for m, e in _each(maps)],
        build("sieve", {"roles": roles}),
    )
    yield _line("word merging", maps, lambda: [merged(m, e) for m, e in _each(maps)], None)
    yield _line("parsing", maps, lambda: [parsing(m, e) for m, e in _each(maps)], build("parser"))
    few = stored(bert_base(2), sequences(1, 128))
    whole = build("divergence", {"rows": "all"})
    yield _line("divergence", few, lambda: [divergence(m) for m in few.maps], whole)


def _each(maps: Stored) -> Iterator[tuple[object, object]]:
    return zip(maps.maps, maps.encoded, strict=True)


def _line(name: str, maps: Stored, loops: Callable[[], object], measure: object) -> Line:
    def ours() -> None:
        with torch.inference_mode():
            if isinstance(measure, StackMeasure):
                maps.observed_together(measure)
            elif isinstance(measure, LayerMeasure):
                maps.observed(measure)
            else:
                maps.views[0].batch._memo.clear()
                for view in maps.views:
                    word_pattern(view)

    n = len(maps.maps)
    what = f"{name} / loops over the stored maps, 24 heads × 128 tokens × {n} sequences"
    line = compared(what, ours, loops, 0.5, rounds=3)
    return replace(line, detail=f" ({1 / line.ratio:,.0f} times as fast)")
