"""How a corpus is to be read: one frozen set of options for every reader."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ReadOptions(BaseModel):
    """What a reader may be told; a reader ignores what does not concern its format.

    `pair` makes two segments: `text` joins line 1 with 2, 3 with 4 …; sentences of CoNLL formats
    are joined the same way inside their document, and with `unit="document"` a document's first
    half (the longer one, counted in sentences) becomes segment A and the rest B, so that two
    sentences are simply A and B; a document of one sentence stays a single segment.

    `unit="auto"` is the sentence in CoNLL-U and CoNLL-X and the document in coreference formats.

    `spacing="single"` joins gold words with single spaces, as Clark et al. (2019) did; "original"
    follows the file's own spacing (`SpaceAfter=No`). A contraction whose parts do not spell it
    (German *zum* = *zu* + *dem*) is written as its parts in both.

    >>> ReadOptions(unit="document").pair
    False
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pair: bool = False
    unit: Literal["auto", "sentence", "document"] = "auto"
    spacing: Literal["single", "original"] = "single"
    text_column: str | None = None
    pair_column: str | None = None
    id_column: str | None = None
    max_characters: int = Field(default=65536, ge=1)
