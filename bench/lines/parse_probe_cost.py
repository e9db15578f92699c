"""What a training step of the parsing probes costs beside the bare forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from bench.ratio import Line, compared
from bench.subject import bert_base, sequences
from headscope.models import collate
from headscope.probes.line_up import make_students
from headscope.probes.parse_training import Classroom
from headscope.probes.student import Schedule
from headscope.types import Dependencies, Encoded, Word


def _parsed(one: Encoded) -> Encoded:
    """Words of one token each; every word's head is the word before it."""
    n_words = one.n_tokens - 2
    sequence = replace(
        one.sequence,
        text="x" * n_words,
        words=tuple(Word(0, i, i + 1) for i in range(n_words)),
        dependencies=Dependencies(tuple(range(-1, n_words - 1)), ("dep",) * n_words),
    )
    words = np.arange(-1, n_words + 1, dtype=np.int32)
    words[-1] = -1
    return replace(one, sequence=sequence, words=words)


def lines() -> Iterator[Line]:
    model = bert_base()
    encoded = [_parsed(one) for one in sequences(32, 24)]
    room = Classroom({"model": model}, torch.randn(10, 50), len)
    schedule = Schedule()
    students = make_students(
        n_maps=144, n_dimensions=50, attention=schedule, vectors=schedule, distance=schedule, seed=0
    )
    on_attention = [s for s in students if s.reads == "model"]

    def ours() -> None:
        room.epoch(on_attention, encoded, 0, lambda _: None)

    def bare() -> None:
        with torch.inference_mode():
            model.model(**collate(encoded).inputs)

    name = "a step of both attention probes / bare eager forward, 24 tokens"
    yield compared(name, ours, bare, 1.25)
