"""Sequences that are left out because some head's attention to them is no distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from headscope.errors import ModelError
from headscope.measures import Place
from headscope.models import View
from headscope.models.broken_rows import broken_heads
from headscope.store import RunRecord
from headscope.types import Encoded, HeadId
from headscope.values import Bundle, Counts, Example, TopK, Value

#: The name under which they are counted among a shard's values.
LEFT_OUT: Final = "left out"
_SHOWN = 3


class BrokenRowsError(Exception):
    """A layer has rows that are no distribution; the batch is observed again without them."""

    def __init__(self, view: View, broken: Bool[Tensor, "batch head"]) -> None:
        super().__init__(f"broken rows in layer {view.layer + 1}")
        self.place = Place(view.stack, view.layer)
        flags = broken.cpu().numpy()
        bad = [view.batch.encoded[i] for i in np.flatnonzero(flags.any(axis=1))]
        self._bad = {id(one) for one in bad}
        self.counted: Value = Bundle(
            {
                "heads": Counts(flags.sum(axis=0)),
                "sequences": Counts(len(bad)),
                "shown": TopK.of([Example(one.sequence.id, 0.0, "") for one in bad], k=_SHOWN),
            }
        )

    def rest(self, encoded: Sequence[Encoded]) -> list[Encoded]:
        """The sequences without broken rows."""
        return [one for one in encoded if id(one) not in self._bad]


def checked(view: View) -> View:
    """The view as measures may see it; BrokenRowsError where a real row is no distribution."""
    view, broken = broken_heads(view)
    if broken is not None:
        raise BrokenRowsError(view, broken)
    return view


def without_broken(record: RunRecord, values: Mapping[tuple[str, Place], Value]) -> RunRecord:
    """The record of a pass, with a count and a note of what was left out."""
    n_planned = record.counts["n_sequences"]
    n_left_out, notes = told(values, n_planned)
    if not n_left_out:
        return record
    counts = {"n_sequences": n_planned - n_left_out, "n_left_out": n_left_out}
    return record.updated(counts={**record.counts, **counts}, notes=[*record.notes, *notes])


def told(values: Mapping[tuple[str, Place], Value], n_sequences: int) -> tuple[int, list[str]]:
    """How many sequences were left out, and a note that says where and which.

    Where none is left there is nothing to say about the model but that: an error.
    """
    n_left_out, heads, shown = 0, [], []
    for place, value in _counted(values):
        n_left_out += int(value.part("sequences", Counts).counts)
        per_head = value.part("heads", Counts).counts
        heads += [str(HeadId(place.layer, int(h), place.stack)) for h in np.flatnonzero(per_head)]
        shown += [example.id for example in value.part("shown", TopK).examples]
    if not n_left_out:
        return 0, []
    where = ", ".join(heads[:_SHOWN]) + (" …" if len(heads) > _SHOWN else "")
    plural = "s" if len(heads) > 1 else ""
    why = f"the attention of head{plural} {where} to them is not finite, or empty"
    if n_left_out >= n_sequences:
        raise ModelError(
            f"nothing can be measured: in all {n_sequences:,} sequences {why}. The weights may be "
            "damaged, or the numbers too large for their type"
        )
    which = ", ".join(shown[:_SHOWN]) + (" …" if n_left_out > _SHOWN else "")
    verb = "sequence was" if n_left_out == 1 else "sequences were"
    return n_left_out, [f"{n_left_out:,} {verb} left out of everything ({which}): {why}"]


def _counted(values: Mapping[tuple[str, Place], Value]) -> Iterable[tuple[Place, Any]]:
    return ((place, value) for (name, place), value in values.items() if name == LEFT_OUT)
