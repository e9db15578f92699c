from __future__ import annotations

import json

import pytest

from headscope.errors import UsageError
from headscope.values import Bundle, Counts, Moments, Sum, pack, unpack


def test_any_name_packs_and_the_description_is_json() -> None:
    values = {
        "surface/self/3": Moments.of([[1.0, 2.0]]),
        "0.total": Sum([1.0]),
        "": Bundle({"a.b": Bundle({}), "ü": Counts(3)}),
    }
    arrays, description = pack(values)
    back = unpack(arrays, json.loads(json.dumps(description)))
    assert list(back) == list(values)
    assert all(back[name].identical(values[name]) for name in values)


def test_more_than_ten_values_keep_apart() -> None:
    values = {f"v{i}": Sum([float(i)]) for i in range(25)}
    back = unpack(*pack(values))
    assert all(back[name].identical(values[name]) for name in values)


def test_unregistered_values_are_refused() -> None:
    class Odd(Sum):
        pass

    with pytest.raises(ValueError, match="Odd is not the value registered as sum"):
        pack({"x": Odd([1.0])})
    with pytest.raises(UsageError, match="unknown value 'sums'"):
        unpack({}, {"values": [["x", "sums"]]})
