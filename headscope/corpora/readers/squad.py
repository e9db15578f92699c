"""SQuAD v1.1: questions about paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.corpora.json_values import parse
from headscope.corpora.options import ReadOptions
from headscope.corpora.reader import READERS
from headscope.corpora.source import Source
from headscope.types import Sequence


@READERS.register("squad")
def read_squad(source: Source, options: ReadOptions) -> Iterator[Sequence]:
    """One sequence a question: segment A is the question, B its paragraph (the `context`).

    Errors name the place inside the JSON, since such files are one single line.
    """
    whole = parse(source.text(), source)
    for i, article in enumerate(_get(whole, "data", list, "top level", source)):
        for j, paragraph in enumerate(_get(article, "paragraphs", list, f"data[{i}]", source)):
            where = f"data[{i}].paragraphs[{j}]"
            context = _get(paragraph, "context", str, where, source)
            for k, qa in enumerate(_get(paragraph, "qas", list, where, source)):
                place = f"{where}.qas[{k}]"
                question = _get(qa, "question", str, place, source)
                name = _get(qa, "id", str, place, source)
                yield Sequence(
                    name, question.strip(), pair=context.strip(), source=source.name, line=1
                )


def _get(value: Any, key: str, kind: type, where: str, source: Source) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get(key), kind):
        raise source.error(f"no {key!r} at {where}", f"SQuAD v1.1 with {key!r} as {kind.__name__}")
    return value[key]
