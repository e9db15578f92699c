"""Which reader fits a file: by its suffix, and by its first lines where suffixes are shared."""

from __future__ import annotations

import json
import re

from headscope.corpora.source import Source

_BY_SUFFIX = {
    ".txt": "text",
    ".text": "text",
    ".csv": "csv",
    ".conllu": "conllu",
    ".conllx": "conllx",
    ".conll10": "conllx",
    ".gold_conll": "conll2012",
    ".v4_gold_conll": "conll2012",
}
_N_LINES = 40


def detect_reader(source: Source) -> str:
    """The name of the reader for a file.

    `.conll` may be CoNLL-2012 (`#begin document`), OntoGUM (`# begin document`) or ten columns;
    `.tsv` may be GAP (a `Pronoun-offset` column); `.json` SQuAD or records; `.jsonl` frames or
    plain records.
    """
    suffix = source.suffix
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix == ".tsv":
        header = "".join(source.head(1)).split("\t")
        return "gap" if "Pronoun-offset" in header else "tsv"
    if suffix == ".json":
        start = "\n".join(source.head(_N_LINES))[:4096]
        return "squad" if re.match(r'\s*\{\s*"(data|version)"\s*:', start) else "json"
    if suffix in (".jsonl", ".ndjson"):
        return "frames" if _is_frames(source.head(1)) else "jsonl"
    if suffix == ".conll":
        return _conll(source)
    # Opening it first lets a missing file or a directory be told as such.
    source.head(1)
    known = ", ".join([*sorted(_BY_SUFFIX), ".tsv", ".json", ".jsonl", ".conll"])
    raise source.error(
        f"the suffix {suffix!r}", f"one of {known} (then .gz, .bz2, .xz), or a reader"
    )


def _is_frames(head: list[str]) -> bool:
    try:
        first = json.loads("".join(head))
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"frame", "target"} <= first.keys()


def _conll(source: Source) -> str:
    for line in source.head(_N_LINES):
        if line.startswith("#begin document"):
            return "conll2012"
        if line.startswith("# begin document"):
            return "ontogum"
        if not line.startswith("#"):
            break
    return "conllx"
