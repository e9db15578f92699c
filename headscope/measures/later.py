"""Numbers that are still where the model runs, and how they come home: all of a layer at once.

A transfer from a GPU waits until everything before it is computed. Were every measure to fetch its
own numbers, the GPU would stand still a dozen times per layer; so measures hand over tensors and
say what to make of them, and the engine fetches those of all measures together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.values import Moments, Value

V = TypeVar("V", bound=Value)


@dataclass(frozen=True, eq=False)
class Later(Generic[V]):
    """A value to be: its tensors, and the function that makes it of their arrays on the host.

    Floats arrive as float64. The function must not hold on to a layer's maps.
    """

    tensors: tuple[Tensor, ...]
    make: Callable[..., V]


def moments_later(samples: Tensor) -> Later[Moments]:
    """Moments over the sequences of a batch, in float64."""
    return Later((samples,), Moments.of)


def arrived(found: Sequence[Value | Later[Any]]) -> list[Value]:
    """Every value, with one transfer for all numbers of a type.

    >>> values = arrived([moments_later(torch.tensor([[1.0], [3.0]])), Moments.of([[5.0]])])
    >>> [value.mean.tolist() for value in values]
    [[2.0], [5.0]]
    """
    late = [one for one in found if isinstance(one, Later)]
    arrays = iter(on_host([tensor for one in late for tensor in one.tensors]))
    return [
        one.make(*(next(arrays) for _ in one.tensors)) if isinstance(one, Later) else one
        for one in found
    ]


def on_host(tensors: Sequence[Tensor]) -> list[NDArray[Any]]:
    """Tensors as arrays, floats as float64; one transfer for all of one type."""
    kinds: dict[torch.dtype, list[int]] = {}
    for i, tensor in enumerate(tensors):
        kinds.setdefault(tensor.dtype, []).append(i)
    arrays: dict[int, NDArray[Any]] = {}
    for kind, members in kinds.items():
        flat = [tensors[i].detach().reshape(-1) for i in members]
        together = (torch.cat(flat) if len(flat) > 1 else flat[0]).cpu()
        if kind.is_floating_point:
            together = together.double()  # here: not every device has such numbers
        parts = np.split(together.numpy(), np.cumsum([len(one) for one in flat])[:-1])
        for i, part in zip(members, parts, strict=True):
            arrays[i] = part.reshape(tensors[i].shape)
    return [arrays[i] for i in range(len(tensors))]
