"""What a measure's total becomes: tidy tables and named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A table as columns of equal length; the store gives them their types.
Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """Tables by name (columns of equal length) and arrays by name."""

    tables: Mapping[str, Columns] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measure that did not run, and why."""

    name: str
    reason: str
