"""A run killed at any step of the file system is unfinished or complete, and resumes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# One process imports everything once and forks a child per moment of death. An audit hook kills
# the child with SIGKILL right before its k-th change of the run folder.
SCRIPT = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
import numpy as np
from headscope.store import ModelRecord, RunRecord, RunWriter, durable
from headscope.store import is_run, open_run, read_record
from headscope.types import Result

ROOT = Path(sys.argv[1])
RECORD = RunRecord(model=ModelRecord(name="tiny", fingerprint="f"))
EVENTS = {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}

def work(path):
    with RunWriter.open(path, RECORD, resume=True) as writer:
        if writer.already_complete:
            return
        done = writer.finished_shards()
        for i in range(2):
            if i not in done:
                writer.save_shard(i, {"x": np.full(4, i / 7)}, {"i": i})
        total = sum(writer.load_shard(i)[0]["x"] for i in range(2))
        table = {"layer": [0] * 4, "head": range(4), "x": total, "y": total}
        result = Result(tables={"head_map": {k: list(v) for k, v in table.items()}},
                        arrays={"total": total})
        writer.complete({"m": result}, RECORD, extra_files={"report.html": "<p>"})

def die_before_step(k, path):
    steps = [0]
    def step():
        steps[0] += 1
        if steps[0] == k:
            os.kill(os.getpid(), signal.SIGKILL)
    def hook(event, args):
        if event == "open":
            inside = str(args[0]).startswith(str(path)) and args[2] & (os.O_WRONLY | os.O_RDWR)
        else:
            inside = event in EVENTS and str(path) in " ".join(map(str, args))
        if inside:
            step()
    real = os.fsync
    def fsync(fd):
        step()
        real(fd)
    durable.os.fsync = fsync
    sys.addaudithook(hook)

def child(path, prepare):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            prepare()
            work(path)
            code = 0
        finally:
            os._exit(code)
    return pid

def content(path):
    names = ("tables/head_map.parquet", "arrays/total.safetensors", "report.html")
    return [(path / name).read_bytes() for name in names]

def check(path, expected, seen):
    if not is_run(path):
        seen["nothing"] += 1
    else:
        seen[read_record(path).status] += 1
        if read_record(path).status == "complete":
            assert content(path) == expected
    _, status = os.waitpid(child(path, lambda: None), 0)
    assert status == 0, (path, status)
    assert open_run(path).record.status == "complete"
    assert content(path) == expected
    left = {p.name for p in path.iterdir()}
    assert left <= {"run.json", "tables", "arrays", "report.html", ".lock"}, left
    shutil.rmtree(path)

reference = ROOT / "reference"
assert os.waitpid(child(reference, lambda: None), 0)[1] == 0
expected = content(reference)
seen = {"nothing": 0, "running": 0, "complete": 0}
k = 0
while True:
    k += 1
    path = ROOT / f"step{k}"
    _, status = os.waitpid(child(path, lambda: die_before_step(k, path)), 0)
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, status
    check(path, expected, seen)
rng = random.Random(0)
for i in range(6):
    path = ROOT / f"random{i}"
    pid = child(path, lambda: None)
    time.sleep(rng.uniform(0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    check(path, expected, seen)
print(json.dumps({"steps": k - 1, **seen}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_before_every_step(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert child.returncode == 0, child.stderr
    seen = json.loads(child.stdout)
    assert seen["steps"] > 40
    assert min(seen["nothing"], seen["running"], seen["complete"]) > 0
