"""headscope: what does each attention head of a transformer do?

>>> import headscope as hs
>>> hs.__version__
'0.1.0'

`hs.analyze(model, corpus)` measures every head over a corpus, `hs.open_run(path)` opens what was
measured, without torch. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headscope.version import __version__

if TYPE_CHECKING:
    from headscope.api import (
        Run,
        ablate,
        analyze,
        finetune,
        load,
        open_run,
        parse_probe,
        probe,
        view,
    )
    from headscope.corpora import Corpus, shipped_corpus
    from headscope.engine.vectorizer import HeadVectorizer
    from headscope.models import Tap

_HOMES = {
    "Run": "headscope.api",
    "ablate": "headscope.api",
    "analyze": "headscope.api",
    "finetune": "headscope.api",
    "load": "headscope.api",
    "open_run": "headscope.api",
    "parse_probe": "headscope.api",
    "probe": "headscope.api",
    "view": "headscope.api",
    "Corpus": "headscope.corpora",
    "HeadVectorizer": "headscope.engine.vectorizer",
    "shipped_corpus": "headscope.corpora",
    "Tap": "headscope.models",
}

__all__ = [
    "Corpus",
    "HeadVectorizer",
    "Run",
    "Tap",
    "__version__",
    "ablate",
    "analyze",
    "finetune",
    "load",
    "open_run",
    "parse_probe",
    "probe",
    "shipped_corpus",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headscope' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
