"""Heads as a scikit-learn transformer: texts in, vectors out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from headscope.corpora import Corpus
from headscope.engine.embed import Embedding
from headscope.errors import UsageError
from headscope.models import LoadedModel, load
from headscope.models.sentence_token import Pooling
from headscope.types import HeadId


def parse_heads(labels: str | Iterable[str | HeadId]) -> tuple[HeadId, ...]:
    """Heads in the order given, each once.

    >>> [str(head) for head in parse_heads("4-2, 3-1")]
    ['4-2', '3-1']
    """
    listed = labels.replace(",", " ").split() if isinstance(labels, str) else list(labels)
    heads = tuple(h if isinstance(h, HeadId) else HeadId.parse(h) for h in listed)
    if len(set(heads)) < len(heads):
        twin = next(h for h in heads if heads.count(h) > 1)
        raise UsageError(f"head {twin} is named twice")
    return heads


class HeadVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts, or pairs of texts, as the outputs of chosen heads (Jo & Myaeng 2020).

    `heads` are labels counted from 1 ("3-1,4-2") and `layers` numbers counted from 1; without
    either every head is taken. `token` is first, last or mean, by default what suits the model.
    Nothing is learnt from the data: `fit` loads the model.

    `make_pipeline(HeadVectorizer(heads="3-1,4-2"), LogisticRegression()).fit(texts, labels)`
    """

    def __init__(
        self,
        model: str | Path | LoadedModel = "default",
        *,
        heads: str | Iterable[str | HeadId] | None = None,
        layers: Iterable[int] = (),
        token: Pooling | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self.model = model
        self.heads = heads
        self.layers = layers
        self.token = token
        self.max_tokens = max_tokens

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Load the model and check the heads against it."""
        loaded = self.model if isinstance(self.model, LoadedModel) else load(self.model)
        heads = () if self.heads is None else parse_heads(self.heads)
        layers = [layer - 1 for layer in self.layers]
        self.embedding_ = Embedding.of(loaded, heads, layers, self.token, self.max_tokens)
        return self

    def transform(self, texts: Iterable[Any]) -> NDArray[np.float32]:
        """A row per text."""
        check_is_fitted(self, "embedding_")
        listed = [(t[0], t[1]) if isinstance(t, tuple | list) else str(t) for t in texts]
        if not listed:
            return np.zeros((0, self.embedding_.width), np.float32)
        parts = [rows for _, rows in self.embedding_.rows(Corpus.of(listed))]
        return np.concatenate(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for every column, such as `3-1[0]`."""
        check_is_fitted(self, "embedding_")
        return np.array(self.embedding_.names(), dtype=object)
