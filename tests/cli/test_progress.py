"""What people see at a terminal while they wait."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path


def test_a_terminal_shows_stages_rates_and_an_eta(planted_folder: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "toy.txt"
    corpus.write_text("the cat sat on the mat.\n" * 60, encoding="utf-8")
    ours, theirs = pty.openpty()
    command = [
        sys.executable, "-m", "headscope", "analyze", str(planted_folder), "-c", str(corpus),
        "-o", str(tmp_path / "r"), "--measures", "surface", "--batch-tokens", "16",
    ]  # fmt: skip
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert child.stdout is not None
    child.stdout.close()
    assert child.wait() == 0
    text = shown.decode()
    for expected in ("Loading", "Looking at heads", "sequences/s", "%", "0:00:"):
        assert expected in text
