"""A shard's values in the run folder, and their sum."""

from __future__ import annotations

from headscope.engine.executor import Packed
from headscope.engine.shard import Values, add
from headscope.measures import Place
from headscope.store import RunWriter
from headscope.types import STACKS
from headscope.values import pack, unpack


def packed(values: Values) -> Packed:
    """The values of a finished shard as its checkpoint holds them, bit for bit."""
    named = {f"{name}/{place.stack}/{place.layer}": v for (name, place), v in values.items()}
    return pack(named)


def load_values(writer: RunWriter, index: int) -> Values:
    """The values of a shard as they were saved."""
    values: Values = {}
    for key, value in unpack(*writer.load_shard(index)).items():
        name, stack, layer = key.rsplit("/", 2)
        values[name, Place(next(s for s in STACKS if s == stack), int(layer))] = value
    return values


def sum_values(writer: RunWriter, n_shards: int) -> Values:
    """All shards added in their order, whoever computed them, so that the bits are the same."""
    total: Values = {}
    for index in range(n_shards):
        add(total, load_values(writer, index))
    return total
