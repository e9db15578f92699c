"""One column: whatever a measure hands over, as an Arrow array of the right type."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Kind(Enum):
    """What a column holds; where a kind may be absent, None and NaN become null."""

    INDEX = "whole numbers (int32)"
    INDEX_OR_NONE = "whole numbers (int32) or None"
    COUNT = "whole numbers (int64)"
    COUNT_OR_NONE = "whole numbers (int64) or None"
    FLOAT = "numbers (NaN for no data)"
    FLAG = "true and false"
    LABEL = "strings"
    LABEL_OR_NONE = "strings or None"

    @property
    def optional(self) -> bool:
        return self.name.endswith("_OR_NONE")


class WrongKindError(ValueError):
    """A column that is not what it should be."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}; expected {expected}")


def column_array(values: Any, kind: Kind | None = None) -> pa.Array:
    """Values of a list, a numpy array, a pandas column or an Arrow array as one Arrow array.

    Without a kind it is told from the values: booleans, int64, float64 (also for smaller
    floats), strings, and else whatever Arrow makes of them.

    >>> column_array([0.5, None], Kind.FLOAT).to_pylist()
    [0.5, nan]
    >>> column_array(["a", None], Kind.LABEL_OR_NONE).to_pylist()
    ['a', None]
    >>> column_array([1, 2.5], Kind.COUNT)
    Traceback (most recent call last):
    headscope.store.columns.WrongKindError: found 2.5; expected whole numbers (int64)
    """
    array = _one_dimension(values)
    kind = kind or _guess(array)
    if kind is None and isinstance(values, pa.Array | pa.ChunkedArray):
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if kind is None:
        try:
            return pa.array(array.tolist())
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise WrongKindError(str(error), "values of one type") from None
    if kind is Kind.FLOAT:
        return _floats(array, kind)
    if kind is Kind.FLAG:
        return _checked(array, kind, pa.bool_(), bool)
    if kind in (Kind.LABEL, Kind.LABEL_OR_NONE):
        return _checked(array, kind, pa.string(), str)
    return _whole(array, kind)


def _one_dimension(values: Any) -> NDArray[Any]:
    """Values as numpy holds them, unless numpy would change their kind (1 and "a" to strings)."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        values = (
            values.to_numpy(zero_copy_only=False)
            if plain and values.null_count == 0
            else values.to_pylist()
        )
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise WrongKindError(f"one {type(values).__name__}", "a column of values")
    if not isinstance(values, list | tuple):
        array = np.asarray(values)
        if array.ndim != 1:
            raise WrongKindError(f"{array.ndim} dimensions", "one")
        return array
    kinds = {type(value) for value in values}
    if kinds and (kinds <= {int, float} or (len(kinds) == 1 and kinds <= {bool, str})):
        return np.asarray(values) if kinds != {str} else np.array(values, dtype=object)
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value.item() if isinstance(value, np.generic) else value
    return array


def _guess(array: NDArray[Any]) -> Kind | None:
    by_type = {"b": Kind.FLAG, "i": Kind.COUNT, "u": Kind.COUNT, "f": Kind.FLOAT, "U": Kind.LABEL}
    if array.dtype.kind != "O":
        return by_type.get(array.dtype.kind)
    kinds = {type(value) for value in array} - {type(None)}
    if kinds == {str}:
        return Kind.LABEL_OR_NONE
    if kinds == {int}:
        return Kind.COUNT_OR_NONE
    if kinds == {bool} and not any(value is None for value in array):
        return Kind.FLAG
    return Kind.FLOAT if kinds and kinds <= {int, float} else None


def _floats(array: NDArray[Any], kind: Kind) -> pa.Array:
    if array.dtype.kind == "O":
        for value in array:
            if value is not None and (isinstance(value, bool) or not _is_number(value)):
                raise WrongKindError(repr(value), kind.value)
        array = np.array([np.nan if v is None else v for v in array], dtype=np.float64)
    if array.dtype.kind not in "iuf" and len(array):
        raise WrongKindError(repr(array[0].item()), kind.value)
    return pa.array(array.astype(np.float64), from_pandas=False)


def _whole(array: NDArray[Any], kind: Kind) -> pa.Array:
    type_ = pa.int32() if kind in (Kind.INDEX, Kind.INDEX_OR_NONE) else pa.int64()
    items: Any = array
    if array.dtype.kind not in "iu":
        items = [_none_if_absent(value) for value in array.tolist()]
        for value in items:
            absent = value is None and kind.optional
            if not absent and not (_is_number(value) and float(value).is_integer()):
                raise WrongKindError(repr(value), kind.value)
        items = [None if value is None else int(value) for value in items]
    try:
        return pa.array(items).cast(type_) if len(items) else pa.array([], type=type_)
    except (pa.ArrowException, OverflowError) as error:
        raise WrongKindError(str(error), kind.value) from None


def _checked(array: NDArray[Any], kind: Kind, type_: pa.DataType, python: type) -> pa.Array:
    items = array.tolist()
    if kind.optional:
        items = [_none_if_absent(value) for value in items]
    for value in items:
        if not isinstance(value, python) and not (kind.optional and value is None):
            raise WrongKindError(repr(value), kind.value)
    try:
        return pa.array(items, type=type_)
    except UnicodeEncodeError:
        # Half of a surrogate pair is no Unicode text, and no file can hold it.
        return pa.array([None if v is None else _mended(v) for v in items], type=type_)


def _mended(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _none_if_absent(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
