"""A sequence as one tokenizer sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from headscope.types.sequence import Sequence


class TokenKind(IntEnum):
    """Exclusive classes of tokens; `punct` in tables is period and comma together."""

    OTHER = 0
    CLS = 1
    SEP = 2
    PERIOD = 3
    COMMA = 4


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The tokens of a sequence and what each of them is. All arrays have length `n_tokens`.

    `segments` is 0 or 1, and -1 for delimiters; `words` is the index into `sequence.words`, and
    -1 for delimiters and for tokens outside any word (also when there are no words); `offsets`
    are characters in the token's segment. `target` is the decoder's side of an encoder–decoder
    model. `n_cut` counts the tokens that did not fit.
    """

    sequence: Sequence
    input_ids: NDArray[np.int64]
    kinds: NDArray[np.int8]
    segments: NDArray[np.int8]
    words: NDArray[np.int32]
    offsets: NDArray[np.int32]
    model_inputs: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    target: Encoded | None = None
    n_cut: int = 0

    @property
    def n_tokens(self) -> int:
        return len(self.input_ids)
