"""What is wrong is refused during the scan, with its file, its line and what was expected."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.corpora import Corpus, ReadOptions
from headscope.errors import InputError, UsageError

Write = Callable[[str, str | bytes], Path]

U = "1\ta\t_\tX\t_\t_\t{}\tx\t_\t{}\n"
GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
DOCUMENT = "#begin document (d); part 000\n"


def u(*rows: tuple[str, str, str] | tuple[str, str, str, str]) -> str:
    """Rows of CoNLL-U from id, form, head and perhaps MISC."""
    cells = [(*row, "_") if len(row) == 3 else row for row in rows]
    return "".join(f"{i}\t{f}\t_\tX\t_\t_\t{h}\tdep\t_\t{m}\n" for i, f, h, m in cells) + "\n"


def w(form: str, coreference: str) -> str:
    return "\t".join(["d", "0", "0", form, *["-"] * 7, coreference]) + "\n"


GOOD = u(("1", "a", "0"), ("2", "b", "1"))
# name of the file, its content, the line of the error, words of the message
CASES = {
    "not utf-8": ("a.txt", b"good\nb\xe4d\n", 2, "byte 0xe4 at byte 6"),
    "not utf-8 after a mark": ("a.txt", b"\xef\xbb\xbf\xff", 1, "byte 0xff at byte 3"),
    "utf-16": ("a.txt", "text".encode("utf-16"), 1, "byte 0xff at byte 0"),
    "columns": ("a.conllu", GOOD + "1\ta\t_\n", 4, "3 columns; expected 10"),
    "spaces for tabs": ("a.conllu", GOOD.replace("\t", " "), 1, "1 columns"),
    "head out of range": ("a.conllu", GOOD + u(("1", "a", "0"), ("2", "b", "3")), 5, "head 3"),
    "head no number": ("a.conllu", u(("1", "a", "0"), ("2", "b", "x")), 2, "head x"),
    "head missing": ("a.conllu", u(("1", "a", "0"), ("2", "b", "_")), 2, "head _"),
    "head too large": ("a.conllu", u(("1", "a", "9" * 5000)), 1, "head 999"),
    "id too large": ("a.conllu", u(("9" * 5000, "a", "0")), 1, "ids such as 3"),
    "cycle": ("a.conllu", u(("1", "a", "0"), ("2", "b", "3"), ("3", "c", "2")), 2, "a cycle"),
    "own head": ("a.conllu", u(("1", "a", "0"), ("2", "b", "2")), 2, "a cycle"),
    "two roots": ("a.conllu", u(("1", "a", "0"), ("2", "b", "0")), 2, "2 roots"),
    "no root": ("a.conllu", GOOD + u(("1", "a", "2"), ("2", "b", "1")), 4, "without a root"),
    "word ids": ("a.conllu", u(("1", "a", "0"), ("3", "b", "1")), 2, "word id 3; expected 2"),
    "strange id": ("a.conllu", u(("1", "a", "0"), ("x", "b", "1")), 2, "id 'x'"),
    "range": ("a.conllu", u(("1", "a", "0"), ("2-3", "b", "_")), 2, "range 2-3"),
    "empty form": ("a.conllu", u(("1", "", "0")), 1, "an empty form"),
    "empty sentence": ("a.conllu", GOOD + "# sent_id = x\n\n" + GOOD, 4, "without words"),
    "empty nodes only": ("a.conllu", u(("1.1", "a", "_")), 1, "without words"),
    "mention never closed": ("a.conllu", u(("1", "a", "0", "Entity=(e1-x")), 1, "never closed"),
    "mention not open": ("a.conllu", GOOD + u(("1", "a", "0", "Entity=e1)")), 4, "not open"),
    "mention garbled": ("a.conllu", u(("1", "a", "0", "Entity=e1")), 1, "coreference 'e1'"),
    "mention hostile": ("a.conllu", u(("1", "a", "0", "Entity=" + "x" * 10**6)), 1, "'xxx"),
    "mention head": (
        "a.conllu",
        "# global.Entity = eid-head\n" + u(("1", "a", "0", "Entity=(e1-2)")),
        2,
        "head 2 of a mention of 1",
    ),
    "frame out of range": ("a.conllu", "# frame = F 1 E=2-9\n" + GOOD, 1, "'2-9' in a frame"),
    "frame garbled": ("a.conllu", "# frame = F\n" + GOOD, 1, "the frame 'F'"),
    "2012 never closed": ("a.conll", DOCUMENT + w("a", "(1") + "#end document\n", 2, "(1 that is"),
    "2012 not open": ("a.conll", DOCUMENT + w("a", "1)") + "#end document\n", 2, "1) closing"),
    "2012 columns": ("a.conll", DOCUMENT + w("a", "-") + "d 0 0 b -\n", 3, "5 columns"),
    "2012 no end": ("a.conll", DOCUMENT + w("a", "-"), 1, "does not end"),
    "2012 no words": ("a.conll", DOCUMENT + "#end document\n", 1, "without words"),
    "ontogum never closed": (
        "a.conll",
        "# begin document d\n0\ta\t(1\n# end document\n",
        2,
        "never closed",
    ),
    "empty file": ("a.txt", b"", None, "no sequences"),
    "blank file": ("a.txt", b"\n  \n", None, "no sequences"),
    "header only": ("a.tsv", b"text\tlabel\n", None, "no sequences"),
    "long line": ("a.txt", b"ok\n" + b"x" * 100_000, 2, "100,000 characters; expected at most"),
    "json": ("a.jsonl", b'{"text": "a"}\n{"text": \n', 2, "invalid JSON at column 1"),
    "json nested": ("a.jsonl", b"[" * 100_000, 1, "nested too deeply"),
    "json number too large": ("a.jsonl", b'{"text": ' + b"1" * 5000 + b"}", 1, "too large"),
    "json member too large": ("a.json", b"[\n" + b"1" * 5000 + b"]", 2, "too large"),
    "json not an object": ("a.jsonl", b"[1]\n", 1, "a JSON list"),
    "json without text": ("a.jsonl", b'{"text": "a"}\n{"label": 1}\n', 2, "columns 'label'"),
    "json empty text": ("a.jsonl", b'{"text": "a"}\n{"text": " "}\n', 2, "an empty text"),
    "json number": ("a.jsonl", b'{"text": 3}\n', 1, "int in 'text'"),
    "json words": ("a.jsonl", b'{"words": ["a", ""]}\n', 1, "'words' of another kind"),
    "json surrogate": ("a.jsonl", b'{"text": "a\\ud800"}\n', 1, "surrogate"),
    "json list": ("a.json", b'[\n{"text": "a"}\n{"text": "b"}]', 3, "',' or ']' expected"),
    "json end": ("a.json", b'[{"text": "a"}]\n]', 2, "more after the end"),
    "squad": ("a.json", b'{"data": [{"title": "x"}]}', None, "no 'paragraphs' at data[0]"),
    "row": ("a.tsv", b"text\tlabel\nx\t1\nx\n", 3, "1 columns; expected 2"),
    "missing column": ("a.tsv", b"label\tscore\n1\t2\n", 1, "columns 'label', 'score'"),
    "twin column": ("a.tsv", b"text\tlabel\ttext\n1\t2\t3\n", 1, "the column 'text' twice"),
    "csv twin column": ("a.csv", b"text,text\n1,2\n", 1, "the column 'text' twice"),
    "csv quote": ("a.csv", b'text\nok\n"never ends\n', 3, "a broken row"),
    "empty cell": ("a.tsv", b"text\tlabel\n\t1\n", 2, "an empty text"),
    "gap offset": (
        "a.tsv",
        GAP + "1\tAnn saw her.\ther\t7\tAnn\t0\tTRUE\tAnn\t0\tFALSE\tu\n",
        2,
        "' he' at Pronoun-offset 7; expected 'her'",
    ),
    "gap truth": (
        "a.tsv",
        GAP + "1\tAnn saw her.\ther\t8\tAnn\t0\tmaybe\tAnn\t0\tFALSE\tu\n",
        2,
        "A-coref 'maybe'",
    ),
    "frame span": (
        "a.jsonl",
        json.dumps({"text": "a b", "frame": "F", "target": [[0, 9]], "fes": []}),
        1,
        "the span [0, 9]",
    ),
    "truncated gzip": ("a.txt.gz", gzip.compress(b"text\n" * 999)[:-9], None, "truncated"),
    "no gzip": ("a.txt.gz", b"plain text", None, "damaged .gz"),
    "no xz": ("a.txt.xz", b"plain text", None, "damaged .xz"),
    "no bzip2": ("a.txt.bz2", b"plain text", None, "cannot be read"),
    "suffix": ("a.docx", b"text", None, "the suffix '.docx'"),
}


@pytest.mark.parametrize(("name", "content", "line", "words"), CASES.values(), ids=CASES.keys())
def test_refused(
    write: Write, name: str, content: str | bytes, line: int | None, words: str
) -> None:
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        Corpus(path).scan()
    assert words in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(path)


def test_odd_pair(write: Write) -> None:
    with pytest.raises(InputError, match="odd number") as caught:
        Corpus(write("a.txt", "a\nb\n\nc\n"), options=ReadOptions(pair=True)).scan()
    assert caught.value.line == 4


def test_document_without_newdoc(write: Write) -> None:
    with pytest.raises(InputError, match="# newdoc"):
        Corpus(write("a.conllu", GOOD), options=ReadOptions(unit="document")).scan()


def test_sentences_of_a_document_without_them(write: Write) -> None:
    path = write("a.conll", "# begin document d\n0\ta\t_\n# end document\n")
    with pytest.raises(InputError, match="without sentence ends"):
        Corpus(path, options=ReadOptions(unit="sentence")).scan()


def test_missing_and_directory(tmp_path: Path, write: Write) -> None:
    good = write("a.txt", "text\n")
    with pytest.raises(InputError, match="no such file"):
        Corpus(tmp_path / "none.txt").scan()
    with pytest.raises(InputError, match="no such file"):
        Corpus([good, tmp_path / "none.tsv"], limit=1).scan()
    with pytest.raises(InputError, match="a directory"):
        Corpus(tmp_path).scan()
    with pytest.raises(InputError, match="a pipe or a device"):
        Corpus("/dev/null", reader="text").scan()


def test_a_named_column_that_is_missing(write: Write) -> None:
    path = write("a.tsv", "text\tlabel\nx\t1\n")
    with pytest.raises(InputError, match="a column 'body'") as caught:
        Corpus(path, options=ReadOptions(text_column="body")).scan()
    assert caught.value.line == 1


def test_words_of_usage() -> None:
    with pytest.raises(UsageError, match="did you mean 'conllu'"):
        Corpus("a.txt", reader="conlu")
    with pytest.raises(UsageError, match="limit is 0"):
        Corpus("a.txt", limit=0)
    with pytest.raises(UsageError, match="at least one file"):
        Corpus([])
    with pytest.raises(UsageError, match="expected spacy:NAME"):
        Corpus("a.txt", annotate="stanza:en")
    with pytest.raises(UsageError, match="not of one text"):
        Corpus.of("text")
    with pytest.raises(UsageError, match="item 1 is a int"):
        Corpus.of([3])  # type: ignore[list-item]
