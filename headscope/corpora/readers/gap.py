"""GAP: an ambiguous pronoun and two names (Webster et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.corpora.character_spans import simple_words, words_of
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.corpora.whole_numbers import whole_number
from headscope.types import Mention, Sequence

COLUMNS = (
    "ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref",
    "B", "B-offset", "B-coref", "URL",
)  # fmt: skip
_TRUTH = {"TRUE": True, "FALSE": False}


@READERS.register("gap")
def read_gap(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """One sequence a row with three mentions: the pronoun and the names A and B.

    A name that is the pronoun's antecedent shares its entity, `pronoun`; the other one is an entity
    of its own. Words are simple (runs of letters, single marks), divided where a mention ends.
    """
    header: list[str] | None = None
    for number, line in source.lines():
        if not line.strip():
            continue
        cells = line.split("\t")
        if header is None:
            header = cells
            missing = [name for name in COLUMNS[:-1] if name not in header]
            if missing or len(set(header)) < len(header):
                what = f"no column {missing[0]!r}" if missing else "a column twice"
                raise source.error(what, f"GAP's columns {', '.join(COLUMNS)}", number)
        elif len(cells) != len(header):
            raise source.error(f"{len(cells)} columns", f"{len(header)}, as in the header", number)
        else:
            yield _sequence(dict(zip(header, cells, strict=True)), source, number)


def _sequence(row: dict[str, str], source: Source, line: int) -> Sequence:
    text = row["Text"]
    spans: list[tuple[str, int, int]] = []
    for name, offset in (("Pronoun", "Pronoun-offset"), ("A", "A-offset"), ("B", "B-offset")):
        wanted, at = row[name], row[offset]
        start = whole_number(at)
        if start is None or not wanted:
            raise source.error(f"{offset} {at[:20]!r} of {wanted!r}", "a character offset", line)
        found = text[start : start + len(wanted)]
        if found != wanted:
            raise source.error(f"{found!r} at {offset} {start}", repr(wanted), line)
        same = name == "Pronoun" or _truth(row, f"{name}-coref", source, line)
        spans.append(("pronoun" if same else name, start, start + len(wanted)))
    words = simple_words(text, (border for _, start, end in spans for border in (start, end)))
    mentions: list[Mention] = []
    for entity, start, end in spans:
        span = words_of(words, start, end)
        if span is None:
            raise source.error("a mention of white space", "a mention with words", line)
        mentions.append(Mention(entity, *span))
    mentions.sort(key=lambda m: (m.start, m.end, m.entity))
    return Sequence(
        row["ID"], text, words=words, mentions=tuple(mentions), source=source.name, line=line
    )


def _truth(row: dict[str, str], column: str, source: Source, line: int) -> bool:
    truth = _TRUTH.get(row[column].upper())
    if truth is None:
        raise source.error(f"{column} {row[column]!r}", "TRUE or FALSE", line)
    return truth
