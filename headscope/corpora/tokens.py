"""Tokens of many texts at once, as flat arrays."""

from __future__ import annotations

import copy
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import ModelError

Texts = tuple[str] | tuple[str, str]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of text k are `bounds[k]` up to and without `bounds[k + 1]`.

    `segments` is -1 for `special` tokens, those the tokenizer adds; a "[SEP]" that is spelled out
    in a text is text. Offsets are characters in the token's segment.
    """

    bounds: NDArray[np.int64]
    ids: NDArray[np.int64]
    types: NDArray[np.int64] | None
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    special: NDArray[np.bool_]
    segments: NDArray[np.int8]

    @property
    def texts(self) -> NDArray[np.int64]:
        """For each token, the number of its text."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


class FastTokenizer:
    """The Rust side of a Hugging Face tokenizer, without truncation and padding.

    It is called directly, on a private copy: the wrapper's call spends as long on Python lists as
    on tokenizing, and would change the user's object. The tests hold the ids against the wrapper's.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(
                f"{type(tokenizer).__name__} is a slow tokenizer, which tells no offsets; "
                "a fast one is needed (a tokenizer.json beside the model)"
            )
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)
        self._backend.no_truncation()
        self._backend.no_padding()
        self._backend.encode_special_tokens = bool(
            getattr(tokenizer, "split_special_tokens", False)
        )
        self._has_types = "token_type_ids" in tokenizer.model_input_names

    def __call__(self, texts: SequenceABC[Texts]) -> Tokens:
        inputs = [text[0] if len(text) == 1 else text for text in texts]
        encodings = self._backend.encode_batch(inputs, add_special_tokens=True)
        lengths = [len(encoding) for encoding in encodings]
        bounds = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=bounds[1:])
        n = int(bounds[-1])
        flat = chain.from_iterable
        offsets = np.fromiter(
            flat(flat(encoding.offsets for encoding in encodings)), np.int64, 2 * n
        ).reshape(n, 2)
        special = np.fromiter(flat(e.special_tokens_mask for e in encodings), np.int8, n)
        segments = np.where(special, -1, 0).astype(np.int8)
        for k, text in enumerate(texts):
            if len(text) == 2:
                ids = encodings[k].sequence_ids
                segments[bounds[k] : bounds[k + 1]] = [-1 if s is None else s for s in ids]
        return Tokens(
            bounds=bounds,
            ids=np.fromiter(flat(e.ids for e in encodings), np.int64, n),
            types=np.fromiter(flat(e.type_ids for e in encodings), np.int64, n)
            if self._has_types
            else None,
            starts=offsets[:, 0],
            ends=offsets[:, 1],
            special=segments == -1,
            segments=segments,
        )
