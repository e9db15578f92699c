"""One observation worth showing, and lists of them as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.values.value import Arrays


class Example(NamedTuple):
    """An item by its id, unique in the corpus, with a score and a text to show."""

    id: str
    score: float
    text: str


def encode_strings(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as one run of UTF-8 bytes and the offset of each; lone surrogates survive.

    >>> bytes_, offsets = encode_strings(["a", "ü"])
    >>> bytes_.tolist(), offsets.tolist()
    ([97, 195, 188], [0, 1, 3])
    """
    parts = [s.encode("utf-8", "surrogatepass") for s in strings]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), dtype=np.uint8).copy(), offsets


def decode_strings(data: NDArray[Any], offsets: NDArray[Any]) -> list[str]:
    """The strings that `encode_strings` was given."""
    joined, ends = data.tobytes(), offsets.tolist()
    return [joined[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]


def examples_to_arrays(examples: Iterable[Example]) -> Arrays:
    """Examples, in their order, as arrays."""
    items = list(examples)
    ids, id_offsets = encode_strings(item.id for item in items)
    texts, text_offsets = encode_strings(item.text for item in items)
    return {
        "ids": ids,
        "id_offsets": id_offsets,
        "scores": np.array([item.score for item in items], dtype=np.float64),
        "texts": texts,
        "text_offsets": text_offsets,
    }


def examples_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[Example]:
    """The examples that `examples_to_arrays` was given."""
    ids = decode_strings(arrays["ids"], arrays["id_offsets"])
    texts = decode_strings(arrays["texts"], arrays["text_offsets"])
    scores = arrays["scores"].tolist()
    return [Example(*fields) for fields in zip(ids, scores, texts, strict=True)]
