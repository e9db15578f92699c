"""A command in a forked child: everything is imported once, a fault costs only its own work."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: No command here takes minutes; one that does hangs.
PATIENCE = 600.0
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: the signal), and what it said."""

    code: int
    said: str
    cpu_seconds: float

    @property
    def refused_clearly(self) -> bool:
        """One message of ours, exit code 2, no traceback."""
        return self.code == 2 and "headscope: " in self.said and "Traceback" not in self.said


def warm_up() -> None:
    """Import what commands import, so that children have it; nothing may start a thread."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import accelerate  # noqa: F401
    import sklearn.cluster
    import sklearn.manifold
    import sklearn.mixture  # noqa: F401
    import transformers

    import headscope.cli.app
    import headscope.engine.ablate
    import headscope.engine.probe
    import headscope.engine.tune
    import headscope.explorer.app
    import headscope.explorer.live.passes
    import headscope.explorer.live.routes
    import headscope.figures  # noqa: F401
    from headscope.analyses.registered import ANALYSES
    from headscope.corpora import READERS
    from headscope.figures.atlas.section import PASSPORT
    from headscope.figures.registered import FIGURES
    from headscope.measures import MEASURES
    from headscope.measures.roles import ROLES
    from headscope.models import EDITS
    from headscope.tasks.task import TASKS

    for registry in (ANALYSES, READERS, FIGURES, PASSPORT, MEASURES, ROLES, EDITS, TASKS):
        list(registry)
    for name in ("BertModel", "BertForSequenceClassification", "AutoTokenizer", "Trainer"):
        getattr(transformers, name)


def start(arguments: Sequence[str], said: Path, prepare: Callable[[], Any] = lambda: None) -> int:
    """Fork, prepare, and run `headscope ARGUMENTS`; its output goes to a file."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setpgid(0, 0)
        to = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(to, 1)
        os.dup2(to, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.argv = ["headscope", *arguments]
        from headscope.cli import main

        prepare()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def cpu_seconds(pid: int) -> float:
    """Processor time of a living child: a moment in it means the same on a busy machine."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0


def wait(
    pid: int,
    said: Path,
    kill_at: float | None = None,
    kill_when: Callable[[], bool] = lambda: False,
) -> Ended:
    """Until it ends, or is killed: after so much processor time, or as soon as something is so."""
    started = time.monotonic()
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        late = time.monotonic() - started > PATIENCE
        used_up = kill_at is not None and cpu_seconds(pid) >= kill_at
        if late or used_up or kill_when():
            os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            if late:
                return Ended(-99, f"it did not end within {PATIENCE:g} seconds", 0.0)
            break
        time.sleep(0.004)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # whatever it had started itself
    used = usage.ru_utime + usage.ru_stime
    text = said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), text, used)


def run(
    arguments: Sequence[str],
    said: Path,
    prepare: Callable[[], Any] = lambda: None,
    kill_at: float | None = None,
    kill_when: Callable[[], bool] = lambda: False,
) -> Ended:
    """A command from start to end."""
    return wait(start(arguments, said, prepare), said, kill_at, kill_when)
