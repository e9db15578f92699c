"""A disk that is full, that fails, or that spoils what was written."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.faults.child import run
from bench.faults.commands import Command, leftovers, outcome
from bench.faults.hooks import fail_at
from bench.faults.kills import Reference, Tally, fresh, state_of


def _ends_well(
    tally: Tally, command: Command, reference: Reference, output: Path, folder: Path
) -> None:
    """Without the fault the command goes on to the same bytes."""
    ended = run(command.line(output, resume=True), folder / "said.txt")
    tally.check(ended.code == 0, "it does not go on afterwards", ended)
    if ended.code == 0:
        differing = reference.differing(outcome(output))
        tally.check(not differing, f"other bytes than undisturbed: {differing}")
        tally.check(not leftovers(output), f"left behind: {leftovers(output)}")
        tally.counts["went on to the same bytes"] += 1


def failing_writes(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """One change of the folder fails (EIO, ENOSPC …), or all from one on."""
    tally = Tally(command.verb)
    output, said = folder / f"{command.verb}-failing", folder / "said.txt"
    code = rng.choice([errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS])
    for_ever = rng.random() < 0.5
    step = rng.randint(1, 60)
    fresh(command, base, output)
    ended = run(command.line(output), said, fail_at(output, step, code, for_ever=for_ever))
    what = f"{errno.errorcode[code]} at change {step}{' and after' if for_ever else ''}"
    if ended.code == 0:
        tally.counts["not touched by it"] += 1
    else:
        tally.counts["refused clearly"] += ended.refused_clearly
        tally.check(ended.refused_clearly, f"{what}: no clear refusal", ended)
    if state_of(output) == "complete":
        tally.counts["complete all the same"] += 1
    _ends_well(tally, command, reference, output, folder)
    shutil.rmtree(output, ignore_errors=True)
    return tally


def small_files(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """No file may grow beyond a few bytes (RLIMIT_FSIZE): writes fail in the middle."""
    tally = Tally(command.verb)
    output = folder / f"{command.verb}-small"
    fresh(command, base, output)
    most = rng.choice([0, 100, 1000, 3000, 10_000])

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        to = os.dup(1)  # what it says must not count
        os.dup2(to, 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    reader, writer = os.pipe()

    def piped() -> None:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(reader)
        prepare()

    ended = run(command.line(output), folder / "said.txt", piped)
    os.close(writer)
    os.set_blocking(reader, False)
    said = b""
    while part := _read(reader):
        said += part
    os.close(reader)
    text = said.decode(errors="replace")
    clear = ended.code == 2 and "headscope: " in text and "Traceback" not in text
    if ended.code != 0:
        tally.counts["refused clearly"] += clear
        told = f"files of at most {most} bytes: no clear refusal (exit {ended.code}): {text[-600:]}"
        tally.check(clear, told)
    else:
        tally.counts["not touched by it"] += 1
    _ends_well(tally, command, reference, output, folder)
    shutil.rmtree(output, ignore_errors=True)
    return tally


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return b""


@contextmanager
def small_disk(at: Path, kibibytes: int) -> Iterator[Path]:
    """A file system of its own, as small as asked (needs the right to mount)."""
    at.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "none", str(at)], check=True
    )
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def can_mount(folder: Path) -> bool:
    try:
        with small_disk(folder / "probe", 64):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def full_disk(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """A tmpfs that is too small; then it grows (as if somebody had tidied up)."""
    tally = Tally(command.verb)
    need = sum(p.stat().st_size for p in base.rglob("*") if p.is_file()) // 1024 + 8
    room = rng.randint(8, 900) + (0 if command.resumes else need)
    with small_disk(folder / "disk", room) as disk:
        output = disk / "output"
        try:
            fresh(command, base, output)
        except OSError:
            return tally
        ended = run(command.line(output), folder / "said.txt")
        if ended.code == 0:
            tally.counts["not touched by it"] += 1
        else:
            tally.counts["refused clearly"] += ended.refused_clearly
            tally.check(ended.refused_clearly, f"{room} KiB: no clear refusal", ended)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        _ends_well(tally, command, reference, output, folder)
    return tally


def _kept(output: Path) -> list[Path]:
    """Whole files that a command that goes on would rely on."""
    found = []
    for pattern in ("checkpoints/*.safetensors", "checkpoints/vectors/*", "training/*/*"):
        with contextlib.suppress(OSError):  # it is being written while we look
            found += [
                path
                for path in sorted(output.glob(pattern))
                if path.is_file() and path.stat().st_size and not path.name.startswith(".")
            ]
    return found


def spoilt_checkpoint(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """Kill it, flip bytes of a file it had kept or cut one off, let it go on."""
    tally = Tally(command.verb)
    output, said = folder / f"{command.verb}-spoilt", folder / "said.txt"
    fresh(command, base, output)
    enough = rng.randint(1, 4)
    run(command.line(output), said, kill_when=lambda: len(_kept(output)) >= enough)
    kept = _kept(output)
    spoilt = "nothing"
    if not kept:
        tally.counts["nothing kept yet"] += 1
    else:
        path = rng.choice(kept)
        content = bytearray(path.read_bytes())
        if rng.random() < 0.4:
            content = content[: rng.randrange(len(content))]
            how = "cut off"
        else:
            for _ in range(rng.choice([1, 1, 8])):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            how = "flipped"
        path.write_bytes(content)
        tally.counts[how] += 1
        spoilt = f"{path.name} {how}"
    ended = run(command.line(output, resume=True), said)
    if ended.refused_clearly:
        tally.counts["refused clearly"] += 1
    else:
        tally.check(ended.code == 0, f"{spoilt}: no clear end", ended)
        if ended.code == 0:
            differing = reference.differing(outcome(output))
            tally.check(not differing, f"{spoilt}: other bytes: {differing}")
            tally.counts["went on to the same bytes"] += not differing
    shutil.rmtree(output, ignore_errors=True)
    return tally
