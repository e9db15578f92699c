"""Where a model runs, and in which numbers."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch

from headscope.errors import UsageError

#: The numbers a model computes in. What is measured is float32, what is summed float64.
Dtype: TypeAlias = Literal["float32", "bfloat16", "float16"]


def chosen_device(name: str) -> torch.device:
    """A device by name; `auto` is a CUDA GPU if there is one, else an Apple GPU, else the CPU.

    >>> chosen_device("cpu").type, chosen_device("auto").type in ("cpu", "cuda", "mps")
    ('cpu', True)
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        return torch.device(name)
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        expected = "expected auto, cpu, cuda or mps"
        raise UsageError(f"cannot use device {name!r}: {reason}; {expected}") from None


def chosen_dtype(name: str) -> torch.dtype:
    """A type of numbers by name.

    >>> chosen_dtype("bfloat16")
    torch.bfloat16
    """
    if name not in get_args(Dtype):
        raise UsageError(f"--dtype {name}: expected {', '.join(get_args(Dtype))}")
    found: torch.dtype = getattr(torch, name)
    return found


def exact(tensor: torch.Tensor) -> torch.dtype:
    """The widest floating-point numbers of a tensor's device: Apple GPUs have no float64.

    >>> exact(torch.zeros(1))
    torch.float64
    """
    return torch.float32 if tensor.device.type == "mps" else torch.float64
