"""Finished runs of planted models, small and exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headscope.corpora import Corpus
from headscope.engine import Settings, analyze, choose_measures
from headscope.models import LoadedModel
from headscope.store import Run

_SUBJECTS = ("cat", "dog", "bird", "mouse", "she", "he")
_VERBS = ("sat", "saw", "ran", "ate")
_ENDS = ("on the mat .", "under the old tree .", "and she ate , too .", "?", "on a big red house .")


def texts(n: int) -> list[tuple[str, str]]:
    """Pairs of short sentences of different lengths, all of known words."""
    return [
        (
            f"the {_SUBJECTS[i % 6]} {_VERBS[i % 4]} {_ENDS[i % 5]}",
            f"{_SUBJECTS[(i + 1) % 6]} played {_ENDS[(i + 2) % 5]}",
        )
        for i in range(n)
    ]


@pytest.fixture(scope="session")
def analyzed(
    planted_bert: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Run]:
    """A finished run of the sieve measure over pairs of texts."""

    def run(
        items: list[Any] | None = None,
        *,
        model: LoadedModel | None = None,
        output: Path | None = None,
        settings: Settings | None = None,
        parameters: dict[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        corpus = Corpus.of(texts(60) if items is None else items)
        measures = choose_measures(["sieve"], {"sieve": parameters or {}})
        folder = output or tmp_path_factory.mktemp("runs") / "run"
        return analyze(
            model or planted_bert, corpus, folder, measures=measures, settings=settings, **options
        )

    return run


@pytest.fixture(scope="session")
def planted_run(analyzed: Callable[..., Run]) -> Run:
    """Sixty pairs of texts through the planted model; read it, do not write to it."""
    return analyzed()
