"""The command starts itself with an allocator setting, once, and keeps what the user set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from headscope.cli.steady_memory import _is_glibc, with_tunable

TELL = (
    "import os, sys; from headscope.cli.steady_memory import steady_memory; steady_memory();"
    "print(os.getpid(), os.environ['GLIBC_TUNABLES'], sys.argv[1:])"
)


def test_other_tunables_stay() -> None:
    given = {"GLIBC_TUNABLES": "glibc.malloc.perturb=1", "HOME": "/h"}
    expected = "glibc.malloc.perturb=1:glibc.malloc.tcache_count=0"
    assert with_tunable(given) == {"GLIBC_TUNABLES": expected, "HOME": "/h"}


@pytest.mark.skipif(not _is_glibc(), reason="only glibc has the setting")
def test_the_process_starts_again_as_itself() -> None:
    plain = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    command = [sys.executable, "-c", TELL, "a b", "--x"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=plain, text=True) as child:
        out, _ = child.communicate(timeout=60)
    assert out.strip() == f"{child.pid} glibc.malloc.tcache_count=0 ['a b', '--x']"
