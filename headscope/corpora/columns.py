"""Which columns of a table hold the text: named by the user, or known by their usual names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from headscope.corpora.options import ReadOptions
from headscope.corpora.source import Source
from headscope.types import Sequence

#: Usual names, first match wins: GLUE's tasks, their copies on the hub, and plain text.
_USUAL: tuple[tuple[str, str | None], ...] = (
    ("#1 String", "#2 String"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("premise", "hypothesis"),
    ("text_a", "text_b"),
    ("a", "b"),
    ("sentence", None),
    ("text", None),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns in use.

    >>> from pathlib import Path
    >>> Columns.choose(["index", "sentence1", "sentence2"], ReadOptions(), Source(Path("x")))
    Columns(text='sentence1', pair='sentence2', id=None)
    """

    text: str
    pair: str | None = None
    id: str | None = None

    @classmethod
    def choose(
        cls, names: Collection[str], options: ReadOptions, source: Source, line: int | None = None
    ) -> Columns:
        """The columns the options name, else the first usual ones that are there."""
        listed = ", ".join(repr(name) for name in names) or "none"
        for wanted in (options.text_column, options.pair_column, options.id_column):
            if wanted is not None and wanted not in names:
                raise source.error(f"columns {listed}", f"a column {wanted!r}", line)
        if options.text_column is not None:
            return cls(options.text_column, options.pair_column, options.id_column)
        for text, pair in _USUAL:
            if text in names and (pair is None or pair in names):
                return cls(text, options.pair_column or pair, options.id_column)
        usual = " or ".join(f"{text!r}" for text in ("text", "sentence", "sentence1", "text_a"))
        raise source.error(f"columns {listed}", f"a column {usual}, or a text column by name", line)

    def sequence(self, row: Mapping[str, object], source: Source, line: int) -> Sequence:
        """A row's sequence, white space at both ends dropped."""
        text = self._text(row, self.text, source, line)
        pair = None if self.pair is None else self._text(row, self.pair, source, line)
        name = "" if self.id is None else str(row.get(self.id, ""))
        return Sequence(name, text, pair=pair, source=source.name, line=line)

    @staticmethod
    def _text(row: Mapping[str, object], column: str, source: Source, line: int) -> str:
        if column not in row:
            raise source.error(f"no {column!r}", f"{column!r} in every row", line)
        value = row[column]
        if not isinstance(value, str):
            raise source.error(f"{type(value).__name__} in {column!r}", "text", line)
        return value.strip()
