"""Tables as Parquet files whose bytes depend on their content alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headscope.errors import RunError

_ROWS_PER_GROUP = 1 << 17


def table_bytes(table: pa.Table) -> bytes:
    """The Parquet file of a table; equal tables give equal bytes with one version of pyarrow.

    >>> a, b = pa.table({"x": [1, 2]}), pa.concat_tables([pa.table({"x": [n]}) for n in (1, 2)])
    >>> table_bytes(a) == table_bytes(b)
    True
    """
    # Neither how a table was put together nor what pandas noted on it may show in the bytes.
    plain = table.combine_chunks().replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    pq.write_table(
        plain,
        sink,
        row_group_size=_ROWS_PER_GROUP,
        version="2.6",
        data_page_version="1.0",
        use_dictionary=True,
        compression="zstd",
        compression_level=3,
        write_statistics=True,
        store_schema=True,
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_table(path: Path) -> pa.Table:
    """The table of a Parquet file of a run."""
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RunError(f"{path} is damaged: {[*str(error).splitlines(), ''][0]}") from error
