from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headscope.errors import RunError
from headscope.store import TABLES, to_arrow
from headscope.store.columns import Kind
from headscope.store.tables import table_bytes

EXAMPLES: dict[Kind, Any] = {
    Kind.INDEX: 1,
    Kind.INDEX_OR_NONE: None,
    Kind.COUNT: 5,
    Kind.FLOAT: float("nan"),
    Kind.FLAG: True,
    Kind.LABEL: "x",
    Kind.LABEL_OR_NONE: None,
}
HEAD_MAP = {"layer": [0], "head": [0], "x": [0.0], "y": [0.0]}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_known_table_converts_full_and_empty(name: str) -> None:
    contract = TABLES[name]
    full = to_arrow(name, {c: [EXAMPLES[k]] * 2 for c, k in contract.items()})
    empty = to_arrow(name, {c: [] for c in contract})
    assert full.column_names == ["stack", *contract]
    assert full.schema == empty.schema
    assert full["stack"].to_pylist() == ["self", "self"]
    for column, kind in contract.items():
        if column in ("layer", "head", "layer_a", "head_b"):
            assert full.schema.field(column).type == pa.int32()
        if kind is Kind.COUNT:
            assert full.schema.field(column).type == pa.int64()
        if kind is Kind.FLOAT:
            assert full.schema.field(column).type == pa.float64()
            assert full[column].null_count == 0


def test_columns_may_be_anything_that_holds_the_values() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [
        ([0, 1], [1, 2], [0.5, 1.0], [None, 2]),
        (np.array([0, 1], np.int8), np.array([1.0, 2.0]), np.float32([0.5, 1]), [np.nan, 2.0]),
        (pandas.Series([0, 1]), pa.array([1, 2]), pa.chunked_array([[0.5], [1.0]]), (None, 2.0)),
        ([np.int64(0), np.int64(1)], [True + 0, 2], pa.array([0.5, 1.0]), pa.array([None, 2.0])),
    ]
    tables = [
        to_arrow("head_map", dict(zip(("layer", "head", "x", "y"), row, strict=True)))
        for row in rows
    ]
    assert len({table_bytes(table) for table in tables}) == 1
    assert np.isnan(tables[0]["y"][0].as_py())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "lacks x; expected layer, head, x, y, found layer, head, y"),
        ({"x": [0.0, 1.0]}, "differ in length"),
        ({"x": ["0.5"]}, "column 'x' of table 'head_map': found '0.5'; expected numbers"),
        ({"x": [True]}, "found True; expected numbers"),
        ({"x": [[0.5]]}, "found [0.5]; expected numbers"),
        ({"x": np.zeros((1, 1))}, "found 2 dimensions; expected one"),
        ({"x": 0.5}, "found one float; expected a column"),
        ({"layer": [0.5]}, "found 0.5; expected whole numbers"),
        ({"layer": [None]}, "found None; expected whole numbers"),
        ({"layer": [True]}, "found True; expected whole numbers"),
        ({"layer": ["0"]}, "found '0'; expected whole numbers"),
        ({"layer": [float("inf")]}, "found inf; expected whole numbers"),
        ({"layer": [2**40]}, "column 'layer'"),
        ({"layer": [2**80]}, "column 'layer'"),
        ({"stack": ["sideways"]}, "found sideways; expected self, encoder, decoder, cross"),
        ({"stack": ["self", "self"]}, "has 2 rows, not 1"),
        ({"stack": [1]}, "found 1; expected strings"),
    ],
)
def test_wrong_columns_are_refused(change: dict[str, Any], message: str) -> None:
    columns = {k: v for k, v in {**HEAD_MAP, **change}.items() if v is not None}
    with pytest.raises(RunError, match=re.escape(message)):
        to_arrow("head_map", columns)


def test_stack_comes_first_and_may_be_given() -> None:
    one = to_arrow("head_map", {**HEAD_MAP, "stack": "cross"})
    many = to_arrow("head_map", {**HEAD_MAP, "stack": ["cross"]})
    assert one == many
    assert one.column_names[0] == "stack"
    assert to_arrow("mine", {"layer": [0], "v": [1]}).column_names == ["stack", "layer", "v"]
    assert to_arrow("words", {"word": ["a"], "n": [1]}).column_names == ["word", "n"]


def test_own_columns_are_told_from_their_values() -> None:
    t = to_arrow(
        "mine",
        {
            "head": [0, 1],
            "n": [1, 2],
            "gap": [1, None],
            "f": np.float32([0.5, np.nan]),
            "g": [None, 1],
            "b": [True, False],
            "s": ["a", None],
            "l": [[1, 2], []],
            "u": np.array(["x", "yy"]),
        },
    )
    types = {field.name: str(field.type) for field in t.schema}
    assert types == {
        "head": "int32",
        "n": "int64",
        "gap": "int64",
        "f": "double",
        "g": "int64",
        "b": "bool",
        "s": "string",
        "l": "list<item: int64>" if "item" in types["l"] else "list<element: int64>",
        "u": "string",
    }
    with pytest.raises(RunError, match="column 'x' of table 'mine'"):
        to_arrow("mine", {"x": [1, "a"]})


def test_arrow_columns_keep_their_values() -> None:
    when = pa.array([1, None], type=pa.timestamp("ns"))
    given = {
        "b": pa.array([True, False]),
        "s": pa.array(["a", None]).dictionary_encode(),
        "w": pa.chunked_array([when.slice(0, 1), when.slice(1)]),
        "d": pa.array([1, 2], type=pa.float32()),
        "none": pa.chunked_array([], type=pa.timestamp("ns")).cast(pa.timestamp("ns")),
    }
    n_rows = {k: v for k, v in given.items() if k != "none"}
    t = to_arrow("mine", n_rows)
    assert [str(f.type) for f in t.schema] == ["bool", "string", "timestamp[ns]", "double"]
    assert t["s"].to_pylist() == ["a", None]
    assert t["w"].to_pylist() == given["w"].to_pylist()
    assert to_arrow("mine", {"none": given["none"]}).num_rows == 0


def test_half_surrogates_become_replacement_characters() -> None:
    t = to_arrow("words", {"word": ["a\ud800b", "🙂\0\n'\"<b>"]})
    assert t["word"].to_pylist() == ["a\ufffdb", "🙂\0\n'\"<b>"]


@pytest.mark.parametrize("name", ["", "A", "a b", "../a", "a/b", "1a", "a;drop", "a" * 200, "ä"])
def test_table_names_are_plain(name: str) -> None:
    with pytest.raises(RunError, match="cannot name a table"):
        to_arrow(name, {})


def test_bytes_depend_on_content_alone(tmp_path: Path) -> None:
    columns = {"layer": list(range(2000)), "head": [0] * 2000, "x": [0.1] * 2000, "y": [0.2] * 2000}
    a = to_arrow("head_map", columns)
    b = pa.concat_tables([a.slice(0, 700), a.slice(700)]).replace_schema_metadata({"when": "now"})
    assert table_bytes(a) == table_bytes(b)
