"""Every reader on a small file whose content is known by heart."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.corpora import READERS, Corpus, ReadOptions
from headscope.types import Dependencies, Frame, Mention, Sequence

Write = Callable[[str, str | bytes], Path]


def read(path: Path, reader: str | None = None, **options: object) -> list[Sequence]:
    return list(Corpus(path, reader=reader, options=ReadOptions.model_validate(options)))


def words(sequence: Sequence) -> list[str]:
    return [sequence.word_text(i) for i in range(len(sequence.words or ()))]


def test_every_reader_is_registered_and_documented() -> None:
    wanted = {"text", "jsonl", "json", "tsv", "csv", "conllu", "conllx", "conll2012", "ontogum"}
    assert wanted | {"gap", "squad", "frames"} <= set(READERS)
    assert all(READERS[name].__doc__ for name in READERS)


def test_text(write: Write) -> None:
    path = write("a.txt", "One line.\n\n  Two.  \r\nThree\n")
    found = read(path)
    assert [(s.id, s.text, s.line) for s in found] == [
        ("a:1", "One line.", 1),
        ("a:2", "Two.", 3),
        ("a:3", "Three", 4),
    ]
    assert found[0].source == str(path)


def test_text_pairs(write: Write) -> None:
    found = read(write("a.txt", "A\nB\n\nC\nD\n"), pair=True)
    assert [(s.text, s.pair, s.line) for s in found] == [("A", "B", 1), ("C", "D", 4)]


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed(write: Write, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    plain = Corpus(write("a.txt", "One\nTwo\n"))
    packed = Corpus(write(f"a.txt.{suffix}", pack(b"One\nTwo\n")))
    assert [s.id for s in packed] == ["a:1", "a:2"]
    assert packed.scan().fingerprint == plain.scan().fingerprint


def test_only_newlines_end_lines_and_odd_characters_stay(write: Write) -> None:
    odd = "a\x0cb\u2028c\x85d\x1ce\x00f\u202eg\rh"
    found = read(write("a.txt", b"\xef\xbb\xbf" + odd.encode() + b"\r\nnext"))
    assert [s.text for s in found] == [odd, "next"]


def test_jsonl(write: Write) -> None:
    rows = [
        {"text": "Plain.", "id": "x"},
        {"a": "A?", "b": "B."},
        {"words": ["don", "'t", "!"], "id": 7},
    ]
    found = read(write("r.jsonl", "\n".join(map(json.dumps, rows))))
    assert [(s.id, s.text, s.pair) for s in found] == [
        ("x", "Plain.", None),
        ("r:2", "A?", "B."),
        ("7", "don 't !", None),
    ]
    assert words(found[2]) == ["don", "'t", "!"]


def test_json_list_and_object(write: Write) -> None:
    as_list = read(write("l.json", '[\n{"text": "A"},\n\n{"text": "B"}\n]'))
    assert [(s.id, s.text, s.line) for s in as_list] == [("l:1", "A", 2), ("l:2", "B", 4)]
    text = '{\n  "0": {"text_a": "A", "text_b": "B"},\n  "k": {"text_a": "C", "text_b": "D"}\n}\n'
    as_object = read(write("o.json", text))
    assert [(s.id, s.text, s.pair, s.line) for s in as_object] == [
        ("o:1", "A", "B", 2),
        ("k", "C", "D", 3),
    ]


def test_tsv_leaves_quotes_alone(write: Write) -> None:
    path = write("t.tsv", 'index\tsentence1\tsentence2\n0\t"Yes , he said\tNo " no\n')
    (found,) = read(path)
    assert (found.text, found.pair, found.line) == ('"Yes , he said', 'No " no', 2)
    (named,) = read(path, text_column="sentence2", id_column="index")
    assert (named.id, named.text, named.pair) == ("0", 'No " no', None)


def test_csv_unquotes(write: Write) -> None:
    path = write("t.csv", 'text,label\n"He said ""no"", and\nleft",1\nBye,0\n')
    assert [(s.text, s.line) for s in read(path)] == [('He said "no", and\nleft', 2), ("Bye", 4)]


CONLLU = """\
# global.Entity = eid-etype-head-other
# newdoc id = d1
# sent_id = s1
# frame = Giving 2 Donor=1 Theme=3-4
1\tAnn\tAnn\tPROPN\tNNP\t_\t2\tnsubj\t_\tEntity=(e1-person-1-)
2\tgave\tgive\tVERB\tVBD\t_\t0\troot\t_\t_
2.1\tgiven\tgive\tVERB\t_\t_\t_\t_\t2:conj\t_
3\tthe\tthe\tDET\tDT\t_\t4\tdet\t_\tEntity=(e2-thing-2-
4\tbook\tbook\tNOUN\tNN\t_\t2\tobj\t_\tEntity=e2)|SpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# sent_id = s2
1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e1-person-1-)
2-3\tcannot\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tcan\tcan\tAUX\tMD\t_\t0\troot\t_\t_
3\tnot\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# newdoc id = d2
# sent_id = s3
1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_
1\tZu\tzu\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\t_
"""


def test_conllu_sentences(write: Write) -> None:
    first, second, third = read(write("u.conllu", CONLLU))
    assert (first.id, first.text, first.line) == ("s1", "Ann gave the book .", 1)
    assert words(first) == ["Ann", "gave", "the", "book", "."]
    assert first.pos == ("PROPN", "VERB", "DET", "NOUN", "PUNCT")
    tree = Dependencies((1, -1, 3, 1, 1), ("nsubj", "root", "det", "obj", "punct"))
    assert first.dependencies == tree
    assert first.mentions == (Mention("e1", 0, 1, 0), Mention("e2", 2, 4, 3))
    assert first.frames == (Frame("Giving", (1, 2), (("Donor", 0, 1), ("Theme", 2, 4))),)
    assert (second.text, second.frames, second.line) == ("She can not .", None, 12)
    assert third.mentions == ()


def test_conllu_original_spacing(write: Write) -> None:
    found = read(write("u.conllu", CONLLU), spacing="original")
    # "zum" is not spelled by its parts, which are therefore written out.
    assert [s.text for s in found] == ["Ann gave the book.", "She cannot.", "Zu dem Haus"]
    assert words(found[1]) == ["She", "can", "not", "."]


def test_conllu_documents_as_pairs(write: Write) -> None:
    first, second = read(write("u.conllu", CONLLU), unit="document", pair=True)
    assert (first.id, first.text, first.pair) == ("d1", "Ann gave the book .", "She can not .")
    assert first.sentences == (0, 5)
    assert first.dependencies is not None
    assert first.dependencies.heads == (1, -1, 3, 1, 1, 6, -1, 6, 6)
    assert first.mentions is not None
    assert first.mentions[-1] == Mention("e1", 5, 6, 5)
    assert [w.segment for w in first.words or ()] == [0] * 5 + [1] * 4
    assert (second.id, second.pair) == ("d2", None)


def test_conllu_pairs_of_sentences_stay_in_their_document(write: Write) -> None:
    found = read(write("u.conllu", CONLLU), pair=True)
    assert [(s.id, s.pair) for s in found] == [("s1+s2", "She can not ."), ("s3", None)]


def test_longer_documents_are_halved(write: Write) -> None:
    row = "1\t{}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    text = "# newdoc\n" + "".join(row.format(form) for form in "abcde")
    (found,) = read(write("u.conllu", text), unit="document", pair=True)
    assert (found.id, found.text, found.pair) == ("u:1", "a b c", "d e")


def test_gum_style_heads_come_from_the_tree(write: Write) -> None:
    text = (
        "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity\n"
        "1\tthe\t_\tDET\t_\t_\t3\tdet\t_\tEntity=(7-abstract-new-nnn-cf1-3-coref(3-x-new-n-c-1-sgl\n"
        "2\tbig\t_\tADJ\t_\t_\t3\tamod\t_\tEntity=3)\n"
        "3\tdog\t_\tNOUN\t_\t_\t4\tnsubj\t_\tEntity=7)\n"
        "4\tbarks\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    )
    (found,) = read(write("g.conllu", text))
    assert found.mentions == (Mention("3", 0, 2, 0), Mention("7", 0, 3, 2))


def test_corefud_discontinuous_and_empty_mentions(write: Write) -> None:
    text = (
        "# global.Entity = eid-etype-head-other\n"
        "1\ta\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1[1/2]--3-)\n"
        "2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2.1\tzero\t_\t_\t_\t_\t_\t_\t_\tEntity=(e9--1-)\n"
        "3\tc\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1[2/2]--3-\n"
        "4\td\t_\t_\t_\t_\t_\t_\t_\tEntity=e1[2/2])\n"
    )
    (found,) = read(write("c.conllu", text))
    assert found.mentions == (Mention("e1", 2, 4, 3),)
    assert found.dependencies is None
    assert found.pos is None


def test_conllx_takes_several_roots(write: Write) -> None:
    rows = "1\ta\t_\tNN\tNN\t_\t0\troot\t_\t_\n2\tb\t_\tNN\tNN\t_\t0\troot\t_\t_\n"
    (found,) = read(write("x.conll", rows))
    assert found.dependencies == Dependencies((-1, -1), ("root", "root"))


CONLL2012 = "#begin document (nw/x); part 003\n{}\n\n{}\n\n#end document\n"


def row(form: str, coreference: str, tag: str = "NN") -> str:
    return "\t".join(["nw/x", "3", "0", form, tag, *["-"] * 6, coreference])


def test_conll2012(write: Write) -> None:
    one = "\n".join([row("the", "(1|(2"), row("cat", "2)")])
    two = "\n".join([row("it", "1)|(2)"), row("ran", "-")])
    path = write("x.conll", CONLL2012.format(one, two))
    (document,) = read(path)
    assert (document.id, document.text, document.sentences) == ("nw/x/3", "the cat it ran", (0, 2))
    assert document.mentions == (Mention("2", 0, 2), Mention("1", 0, 3), Mention("2", 2, 3))
    assert document.pos == ("NN",) * 4
    first, second = read(path, unit="sentence")
    assert first.mentions == (Mention("2", 0, 2),)
    assert (second.id, second.mentions) == ("nw/x/3-2", (Mention("2", 0, 1),))
    (pair,) = read(path, pair=True)
    assert (pair.text, pair.pair) == ("the cat", "it ran")
    spaced = write("y.conll", path.read_text().replace("\t", "   "))
    assert read(spaced)[0].mentions == document.mentions


def test_ontogum(write: Write) -> None:
    rows = "# begin document g\n0\tA\t(1(2)\n1\tb\t_\n2\t\t_\n3\tc\t1)\n# end document\n"
    (found,) = read(write("o.conll", rows))
    assert (found.id, found.text, found.sentences) == ("g", "A b c", None)
    assert found.mentions == (Mention("2", 0, 1), Mention("1", 0, 3))


GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap(write: Write) -> None:
    text = "Ann's sister Bea said she left."
    line = f"g-1\t{text}\tshe\t22\tAnn\t0\tFALSE\tBea\t13\tTRUE\thttp://x\n"
    (found,) = read(write("g.tsv", GAP + line))
    assert found.id == "g-1"
    assert words(found)[:4] == ["Ann", "'", "s", "sister"]
    assert found.mentions == (
        Mention("A", 0, 1),
        Mention("pronoun", 4, 5),
        Mention("pronoun", 6, 7),
    )


def test_squad(write: Write) -> None:
    qas = [{"id": "q1", "question": "Who?", "answers": []}]
    paragraphs = [{"context": "Ann did.", "qas": qas}]
    squad = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
    (found,) = read(write("s.json", json.dumps(squad)))
    assert (found.id, found.text, found.pair) == ("q1", "Who?", "Ann did.")


def test_frames(write: Write) -> None:
    record = {
        "text": "Ann took the hat off . ",
        "frame": "Undressing",
        "target": [[4, 8], [17, 20]],
        "fes": [
            {"name": "Wearer", "span": [0, 3], "core": "Core"},
            {"name": "Clothing", "span": [9, 16], "core": "Core"},
            {"name": "Time", "span": [0, 3], "core": "Peripheral"},
        ],
    }
    line = json.dumps(record)
    one, two = read(write("f.jsonl", f"{line}\n{line}\n"))
    frame = Frame("Undressing", (1, 2), (("Wearer", 0, 1), ("Clothing", 2, 4)))
    assert one.frames == two.frames == (frame,)
    assert (one.id, two.id, one.text) == ("f:1", "f:2", "Ann took the hat off .")


def test_reader_can_be_named(write: Write) -> None:
    path = write("odd.data", "One\nTwo\n")
    assert [s.text for s in read(path, reader="text")] == ["One", "Two"]
