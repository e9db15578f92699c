"""A small valid file of every format, as bytes to be spoilt."""

from __future__ import annotations

import functools
import io
import json
from importlib.resources import files

import numpy as np

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

# newdoc id = d2
# sent_id = s3
1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_
1\tZu\tzu\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\t_
"""
COREFUD = """\
# global.Entity = eid-etype-head-other
1\ta\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1[1/2]--3-)
2\tb\t_\t_\t_\t_\t_\t_\t_\t_
2.1\tzero\t_\t_\t_\t_\t_\t_\t_\tEntity=(e9--1-)
3\tc\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1[2/2]--3-
4\td\t_\t_\t_\t_\t_\t_\t_\tEntity=e1[2/2])
"""
_2012 = "nw/x\t3\t0\t{}\tNN\t-\t-\t-\t-\t-\t-\t{}\n"
CONLL2012 = (
    "#begin document (nw/x); part 003\n"
    + _2012.format("the", "(1|(2")
    + _2012.format("cat", "2)")
    + "\n"
    + _2012.format("it", "1)|(2)")
    + _2012.format("ran", "-")
    + "\n#end document\n"
)
ONTOGUM = "# begin document g\n0\tA\t(1(2)\n1\tb\t_\n2\t\t_\n3\tc\t1)\n# end document\n"
GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "g-1\tAnn's sister Bea said she left.\tshe\t22\tAnn\t0\tFALSE\tBea\t13\tTRUE\thttp://x\n"
)
_QAS = [{"id": "q1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}]
SQUAD = json.dumps(
    {
        "version": "1.1",
        "data": [{"title": "t", "paragraphs": [{"context": "Ann did.", "qas": _QAS}]}],
    }
)
_FRAME = {
    "text": "Ann took the hat off . ",
    "frame": "Undressing",
    "target": [[4, 8], [17, 20]],
    "fes": [
        {"name": "Wearer", "span": [0, 3], "core": "Core"},
        {"name": "Clothing", "span": [9, 16], "core": "Core"},
        {"name": "Time", "span": [0, 3], "core": "Peripheral"},
    ],
}
#: By the name of the reader.
CORPORA: dict[str, tuple[str, ...]] = {
    "text": ("One line.\n\n  Two.  \r\nThree\n", "A\nB\n\nC\nD\n"),
    "jsonl": (
        '{"text": "A b.", "pair": "C"}\n{"text": "D", "id": "x"}\n',
        '{"a": "A", "b": "B"}\n',
    ),
    "json": ('[\n{"text": "A"},\n\n{"text": "B", "pair": "C"}\n]', '{"0": {"text": "A b"}}'),
    "tsv": ('index\tsentence1\tsentence2\n0\t"Yes , he said\tNo " no\n', "text\tlabel\nA\t1\n"),
    "csv": ('text,label\n"He said ""no"", and\nleft",1\nBye,0\n', "sentence1,sentence2\na,b\n"),
    "conllu": (CONLLU, COREFUD),
    "conllx": (
        CONLLU.replace("2.1\tgiven", "# ").replace("1-2\tZum", "# "),
        "1\ta\t_\tNN\tNN\t_\t0\troot\t_\t_\n2\tb\t_\tNN\tNN\t_\t1\tdep\t_\t_\n",
    ),
    "conll2012": (CONLL2012,),
    "ontogum": (ONTOGUM,),
    "gap": (GAP,),
    "squad": (SQUAD,),
    "frames": (json.dumps(_FRAME) + "\n" + json.dumps(_FRAME) + "\n",),
}
SENTEVAL = "tr\tPAST\tShe went .\ntr\tPRES\tHe goes .\nva\tPAST\tIt ran .\nte\tPRES\tI see .\n" * 3
VECTORS = "2 3\nthe 0.1 -0.2 3e-1\ncat 1 2 3\n"


@functools.cache
def labels() -> bytes:
    """A label file of three maps."""
    rows = [
        {
            "model": "m", "stack": "self", "layer": 0, "head": i, "sequence": "s", "n_tokens": 4,
            "split": "test", "label": "vertical", "second": None,
        }
        for i in range(3)
    ]  # fmt: skip
    return json.dumps({"format": "headscope pattern labels 1", "labels": rows}, indent=1).encode()


@functools.cache
def maps() -> bytes:
    """The maps beside it."""
    packed = io.BytesIO()
    weights = np.rint(255 * np.sqrt(np.full(48, 0.25))).astype(np.uint8)
    np.savez_compressed(packed, weights=weights, sizes=np.array([4, 4, 4], np.int16))
    return packed.getvalue()


@functools.cache
def study() -> bytes:
    """The template of a study."""
    return (files("headscope.studies") / "template.toml").read_bytes()


@functools.cache
def record() -> bytes:
    """A run.json."""
    from headscope.store import ModelRecord, RunRecord

    model = ModelRecord(name="m", stacks=({"stack": "self", "n_layers": 1, "n_heads": 2},))
    return RunRecord(model=model, counts={"n_sequences": 3}).to_json().encode()


@functools.cache
def checkpoint() -> bytes:
    """A shard's values."""
    from headscope.store.tensors import encode

    return encode(
        {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(3)},
        {"shard": 0, "metadata": {"values": []}},
    )


@functools.cache
def table() -> bytes:
    """A table of a run."""
    from headscope.store.schema import to_arrow
    from headscope.store.tables import table_bytes

    columns = {"layer": [0, 0], "head": [0, 1], "x": [0.1, 0.2], "y": [0.3, float("nan")]}
    return table_bytes(to_arrow("head_map", columns))
