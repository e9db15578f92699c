"""A few of the faults of `python -m bench.faults`, which does hundreds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork and /proc")
def test_a_handful_of_faults() -> None:
    command = [
        sys.executable, "-m", "bench.faults", "--kills", "4", "--each", "1",
        "--faults", "kills,writes,spoilt,twice", "--verbs", "finetune,probe",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    last = done.stdout.splitlines()[-1]
    found = re.fullmatch(r"(\d+) kills, (\d+) trials, 0 problems", last)
    assert found is not None, last
    assert int(found[1]) >= 4
    assert int(found[2]) >= 10
