"""Names for clusters of heads, by a rule and only where it holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

SPECIAL = ("cls", "sep", "comma", "period")
#: The token itself and what is at most an eighth of the sequence away.
NEAR = ("self", "w00", "w01")

#: Special tokens get at least this much from a vertical head, at most that much from a dense one.
VERTICAL, LITTLE = 0.5, 0.2
#: Of what is not special, the near share of a diagonal head, and the most that a dense one has.
#: An even head has 1 − (7/8)² ≈ 0.23.
DIAGONAL, SPREAD = 0.5, 0.4
#: The share of a cluster's heads that must meet the rule of its name on their own.
MOST = 0.5

NAMES = ("dense", "diagonal", "dense_vertical", "vertical")
RULE = (
    f"vertical: at least {VERTICAL:.0%} of attention on special tokens; else diagonal: at least "
    f"{DIAGONAL:.0%} of the rest within an eighth of the length; else, with at most {SPREAD:.0%} "
    f"of the rest so near, dense (at most {LITTLE:.0%} special) or dense_vertical (more). A "
    f"cluster has a name if its centre and more than {MOST:.0%} of its heads meet the rule"
)


def special_mass(matrix: Matrix, features: Sequence[str]) -> Matrix:
    """Attention to [CLS], [SEP], commas and periods, per row."""
    total: Matrix = matrix[:, [f in SPECIAL for f in features]].sum(axis=1)
    return total


def near_share(matrix: Matrix, features: Sequence[str]) -> Matrix:
    """Of the attention to ordinary tokens, the share within an eighth of the sequence."""
    near = matrix[:, [f in NEAR for f in features]].sum(axis=1)
    rest = 1.0 - special_mass(matrix, features)
    share: Matrix = np.where(rest > 1e-9, near / np.maximum(rest, 1e-9), 0.0)
    return share


def shapes(matrix: Matrix, features: Sequence[str]) -> list[str | None]:
    """The name each row meets the rule of; None between the rules.

    >>> features = ("sep", "self", "w00", "w01", "w02", "w08")
    >>> rows = [[0.8, 0.1, 0.1, 0, 0, 0], [0.1, 0.1, 0.6, 0, 0, 0.2], [0.3, 0, 0.1, 0.1, 0.1, 0.4]]
    >>> shapes(np.array(rows), features)
    ['vertical', 'diagonal', 'dense_vertical']
    """
    found: list[str | None] = []
    special, near = special_mass(matrix, features), near_share(matrix, features)
    for on_special, nearby in zip(special, near, strict=True):
        if on_special >= VERTICAL:
            found.append("vertical")
        elif nearby >= DIAGONAL:
            found.append("diagonal")
        elif nearby > SPREAD:
            found.append(None)
        else:
            found.append("dense" if on_special <= LITTLE else "dense_vertical")
    return found


def named(
    centres: Matrix, matrix: Matrix, labels: NDArray[np.int64], features: Sequence[str]
) -> tuple[str | None, ...]:
    """A name per cluster, where its centre and most of its heads meet the rule.

    Two clusters may meet the same rule and then have the same name: a fit with k = 4 need not find
    the paper's four kinds.
    """
    of_heads = shapes(matrix, features)
    names: list[str | None] = []
    for label, shape in enumerate(shapes(centres, features)):
        members = [of_heads[i] for i in np.flatnonzero(labels == label)]
        agree = sum(member == shape for member in members) / max(len(members), 1)
        names.append(shape if agree > MOST else None)
    return tuple(names)
