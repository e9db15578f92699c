"""Questions in SQL about a run: reading only, bounded in time, rows, bytes and memory."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any

from headscope.explorer.answers import Refused
from headscope.explorer.limits import Limits
from headscope.store import Run
from headscope.store.folder import TABLES

#: What starting the process may take, on a busy machine.
_START_SECONDS = 30.0


class Sql:
    """One worker process, started at the first question and ended when it takes too long."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._worker: Process | None = None

    async def ask(self, run: Run, sql: str) -> dict[str, Any]:
        """The answer of `sql_worker.answered`, or a refusal."""
        if self._waiting >= self._limits.waiting:
            raise Refused(503, "too many questions at once; ask again")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._asked(run, sql)
        finally:
            self._waiting -= 1

    async def _asked(self, run: Run, sql: str) -> dict[str, Any]:
        limits = self._limits
        question = {
            "files": {name: str(run.path / TABLES / f"{name}.parquet") for name in run.tables},
            "sql": sql,
            "seconds": limits.sql_seconds,
            "max_rows": limits.sql_rows,
            "max_bytes": limits.sql_answer_bytes,
        }
        started = self._worker is not None and self._worker.returncode is None
        worker = await self._started()
        assert worker.stdin is not None
        assert worker.stdout is not None
        seconds = limits.sql_seconds + 1.0 + (0.0 if started else _START_SECONDS)
        try:
            worker.stdin.write(json.dumps(question).encode() + b"\n")
            await worker.stdin.drain()
            line = await asyncio.wait_for(worker.stdout.readline(), seconds)
        except (TimeoutError, asyncio.CancelledError, OSError, ValueError) as error:
            await self.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            reason = f"query stopped: it took longer than {limits.sql_seconds:g} seconds"
            raise Refused(422, reason) from None
        if not line:
            await self.close()
            raise Refused(422, "query stopped: it needs too much memory")
        told: dict[str, Any] = json.loads(line)
        if "error" in told:
            if not (run.path / TABLES).is_dir():  # removed while the question waited for its turn
                raise Refused(410, "this run is no longer there")
            raise Refused(422, told["error"])
        return told

    async def _started(self) -> Process:
        if self._worker is None or self._worker.returncode is not None:
            self._worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "headscope.explorer.sql_worker",
                str(self._limits.sql_memory_bytes),
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
                limit=4 * self._limits.sql_answer_bytes,
            )  # fmt: skip
        return self._worker

    async def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            if worker.returncode is None:
                worker.kill()
            await worker.communicate()
