"""What a complete run's folder holds, as bytes."""

from __future__ import annotations

from collections.abc import Mapping

from headscope.errors import RunError
from headscope.store.folder import ARRAYS, TABLES
from headscope.store.names import check_array_name, check_file_name
from headscope.store.schema import to_arrow
from headscope.store.tables import table_bytes
from headscope.store.tensors import encode
from headscope.types import Result


def run_contents(
    results: Mapping[str, Result], extra_files: Mapping[str, bytes | str]
) -> dict[str, bytes]:
    """The bytes of every file of a run by its path inside it; equal results, equal bytes.

    Two measures that write one table or one array are refused: neither may win by chance.

    >>> columns = {"layer": [0], "head": [0], "x": [0.1], "y": [0.2]}
    >>> list(run_contents({"map": Result(tables={"head_map": columns})}, {"a.txt": "hi"}))
    ['tables/head_map.parquet', 'a.txt']
    """
    content: dict[str, bytes] = {}
    origin: dict[str, str] = {}
    for measure in sorted(results):
        result = results[measure]
        files = {
            **{f"{TABLES}/{name}.parquet": name for name in sorted(result.tables)},
            **{f"{ARRAYS}/{name}.safetensors": name for name in sorted(result.arrays)},
        }
        for file, name in files.items():
            if file in origin:
                raise RunError(f"{origin[file]} and {measure} both write {file}")
            origin[file] = measure
            if file.startswith(TABLES):
                content[file] = table_bytes(to_arrow(name, result.tables[name]))
            else:
                content[file] = encode({check_array_name(name): result.arrays[name]})
    for name, data in sorted(extra_files.items()):
        content[check_file_name(name)] = data.encode() if isinstance(data, str) else data
    return content
