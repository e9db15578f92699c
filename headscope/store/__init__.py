"""Runs: written so that a crash loses at most a shard, read without torch, queried with SQL."""

from headscope.store.export import export_tables, table_text
from headscope.store.folder import is_run, read_record
from headscope.store.guard import check_writable, remove_run
from headscope.store.record import (
    CorpusRecord,
    MeasureRecord,
    ModelRecord,
    Request,
    RunRecord,
    SkippedRecord,
    StackRecord,
    library_versions,
)
from headscope.store.run import Run, open_run
from headscope.store.schema import TABLES, to_arrow
from headscope.store.writer import RunWriter

__all__ = [
    "TABLES",
    "CorpusRecord",
    "MeasureRecord",
    "ModelRecord",
    "Request",
    "Run",
    "RunRecord",
    "RunWriter",
    "SkippedRecord",
    "StackRecord",
    "check_writable",
    "export_tables",
    "is_run",
    "library_versions",
    "open_run",
    "read_record",
    "remove_run",
    "table_text",
    "to_arrow",
]
