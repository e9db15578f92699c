"""The public contract of a run's tables: names, columns, types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from headscope.errors import RunError
from headscope.store.columns import Kind, WrongKindError, column_array
from headscope.store.names import check_table_name
from headscope.types import STACKS

# A trailing underscore: may be absent.
_LABEL, _LABEL_, _INDEX, _INDEX_ = Kind.LABEL, Kind.LABEL_OR_NONE, Kind.INDEX, Kind.INDEX_OR_NONE
_COUNT, _FLOAT, _FLAG = Kind.COUNT, Kind.FLOAT, Kind.FLAG

_HEAD = {"layer": _INDEX, "head": _INDEX}
_MEAN = {"mean": _FLOAT, "n": _COUNT}
_INTERVAL = {"ci_low": _FLOAT, "ci_high": _FLOAT}
_ACCURACY = {"accuracy": _FLOAT, **_INTERVAL, "n": _COUNT}

#: Required columns of the known tables, in their order; more columns may follow.
TABLES: Mapping[str, Mapping[str, Kind]] = {
    "surface": {**_HEAD, "target": _LABEL, "mean": _FLOAT, **_INTERVAL, "n": _COUNT},
    "entropy": {**_HEAD, "rows": _LABEL, "mean_nats": _FLOAT, **_INTERVAL, "n": _COUNT},
    "gradient": {**_HEAD, "target": _LABEL, "mean_abs": _FLOAT, "n": _COUNT},
    "parser": {**_HEAD, "direction": _LABEL, "relation": _LABEL, **_ACCURACY},
    "parser_baseline": {"relation": _LABEL, "offset": _INDEX, "accuracy": _FLOAT, "n": _COUNT},
    "coreference": {**_HEAD, "mention": _LABEL, **_ACCURACY},
    "coreference_baseline": {
        "system": _LABEL,
        "mention": _LABEL,
        "accuracy": _FLOAT,
        "n": _COUNT,
    },
    "divergence": {
        "layer_a": _INDEX,
        "head_a": _INDEX,
        "layer_b": _INDEX,
        "head_b": _INDEX,
        "js_nats": _FLOAT,
    },
    "head_map": {**_HEAD, "x": _FLOAT, "y": _FLOAT},
    "sieve": {**_HEAD, "role": _LABEL, "mean": _FLOAT, "std": _FLOAT, "n": _COUNT},
    "sieve_scores": {"sequence": _LABEL, **_HEAD, "role": _LABEL, "score": _FLOAT},
    "roles": {
        **_HEAD,
        "role": _LABEL,
        "mean": _FLOAT,
        **_INTERVAL,
        "z": _FLOAT,
        "p_value": _FLOAT,
        "q_value": _FLOAT,
        "assigned": _FLAG,
    },
    "distance": {**_HEAD, "feature": _LABEL, "mean": _FLOAT},
    "clusters": {**_HEAD, "cluster": _INDEX, "name": _LABEL_, "stable": _FLAG},
    "patterns": {**_HEAD, "pattern": _LABEL, "share": _FLOAT, "n": _COUNT},
    "features": {**_HEAD, "feature": _LABEL, **_MEAN},
    "links": {**_HEAD, "link": _LABEL, **_MEAN},
    "cls_row": {**_HEAD, "target": _LABEL, **_MEAN},
    "frames": {**_HEAD, "mean_max": _FLOAT, "n": _COUNT},
    "similarity": {**_HEAD, "cosine": _FLOAT, "n": _COUNT},
    "importance": {**_HEAD, "score": _FLOAT, "n": _COUNT},
    "probe": {
        "task": _LABEL,
        "representation": _LABEL,
        "layer": _INDEX_,
        "head": _INDEX_,
        "n_heads": _INDEX_,
        "metric": _LABEL,
        "validation": _FLOAT,
        "test": _FLOAT,
    },
    "parse_probe": {"probe": _LABEL, "uas": _FLOAT, "n": _COUNT},
    "parse_probe_weights": {
        **_HEAD,
        "probe": _LABEL,
        "direction": _LABEL,
        "weight": _FLOAT,
        "n": _COUNT,
    },
    "ablation": {
        "edit": _LABEL,
        "layer": _INDEX_,
        "head": _INDEX_,
        "group": _LABEL_,
        "metric": _LABEL,
        "baseline": _FLOAT,
        "value": _FLOAT,
        "delta": _FLOAT,
        **_INTERVAL,
        "n": _COUNT,
    },
}


def to_arrow(name: str, columns: Mapping[str, Any]) -> pa.Table:
    """Columns of equal length as an Arrow table that keeps the contract of its name.

    Known tables must have their columns, in any order; more may follow. `stack` always comes
    first and is "self" unless given (a list, or one name for all rows); a table of a user's own
    gets it if it has a `layer`. Layers and heads are int32, counts int64, other numbers float64
    with NaN for no data, labels strings.

    >>> t = to_arrow("head_map", {"layer": [0], "head": [1], "x": [0.5], "y": [None]})
    >>> t.column_names, t["y"].to_pylist()
    (['stack', 'layer', 'head', 'x', 'y'], [nan])
    """
    check_table_name(name)
    contract = TABLES.get(name, {})
    missing = [column for column in contract if column not in columns]
    if missing:
        raise RunError(
            f"table {name!r} lacks {_listed(missing)}; expected {_listed(contract)}, "
            f"found {_listed(columns)}"
        )
    order = [*contract, *(c for c in columns if c not in contract and c != "stack")]
    arrays = {
        column: _column(name, column, columns[column], contract.get(column)) for column in order
    }
    lengths = {column: len(array) for column, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise RunError(f"columns of table {name!r} differ in length: {lengths}")
    n_rows = next(iter(lengths.values()), 0)
    if contract or "stack" in columns or "layer" in columns:
        arrays = {"stack": _stacks(name, columns.get("stack", "self"), n_rows), **arrays}
    return pa.table(arrays)


def _column(table: str, column: str, values: Any, kind: Kind | None) -> pa.Array:
    if kind is None and column in ("layer", "head"):
        kind = Kind.INDEX_OR_NONE
    try:
        return column_array(values, kind)
    except WrongKindError as error:
        raise RunError(f"column {column!r} of table {table!r}: {error}") from None


def _stacks(table: str, given: Any, n_rows: int) -> pa.Array:
    array = _column(table, "stack", [given] * n_rows if isinstance(given, str) else given, _LABEL)
    if len(array) != n_rows:
        raise RunError(f"column 'stack' of table {table!r} has {len(array)} rows, not {n_rows}")
    unknown = sorted(set(array.unique().to_pylist()) - set(STACKS))
    if unknown:
        raise RunError(
            f"column 'stack' of table {table!r}: found {_listed(unknown)}; "
            f"expected {_listed(STACKS)}"
        )
    return array


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names)) or "none"
