"""`headscope serve` as people start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def started(*options: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "headscope", "serve", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_listens_on_loopback_says_where_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with started(str(tmp_path), "--port", "0") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urllib.request.urlopen(address, timeout=30) as page:
            assert b"<h1>Runs</h1>" in page.read()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert "Traceback" not in said


def test_another_address_comes_with_a_token(tmp_path: Path) -> None:
    with started(str(tmp_path), "--port", "0", "--host", "0.0.0.0") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://[^:/]+:(\d+)/\?token=([\w-]{32,})", address)
        assert found
        base = f"http://127.0.0.1:{found[1]}/api/runs"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(base, timeout=30)
        request = urllib.request.Request(base, headers={"Authorization": f"Bearer {found[2]}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.read() == b'{"runs":[]}'
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["nowhere"], "is no folder"),
        ([".", "--host", "999.1.1.1"], "cannot listen"),
        ([".", "--corpus", "nowhere.txt"], "no such file"),
        ([".", "--model", "./nowhere"], "no such folder"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    tmp_path: Path, options: list[str], reason: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headscope", "serve", *options, "--port", "0"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
