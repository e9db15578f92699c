"""The decoder's input of an encoder–decoder model: the target, shifted right."""

from __future__ import annotations

import numpy as np

from headscope.types import Encoded, TokenKind


def shifted(target: Encoded, start: int) -> Encoded:
    """The start token, then all tokens but the end mark, which a decoder predicts but never reads.

    The start token belongs to no word and no segment; it is `OTHER` even where it is the same
    symbol as the end mark (BART), because it separates nothing.
    """
    n = target.n_tokens
    # A tokenizer that adds no end mark loses no token.
    stop = n - 1 if n and target.segments[-1] < 0 else n
    return Encoded(
        sequence=target.sequence,
        input_ids=np.append(np.int64(start), target.input_ids[:stop]),
        kinds=np.append(np.int8(TokenKind.OTHER), target.kinds[:stop]),
        segments=np.append(np.int8(-1), target.segments[:stop]),
        words=np.append(np.int32(-1), target.words[:stop]),
        offsets=np.concatenate((np.zeros((1, 2), np.int32), target.offsets[:stop])),
    )
