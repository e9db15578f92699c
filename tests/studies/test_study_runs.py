"""Studies carried out: reused by fingerprint, resumed after a kill, told in one report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.cli import main
from headscope.errors import RunError
from headscope.store import open_run
from headscope.studies.conclusion import conclude
from headscope.studies.estimate import estimate, plan_lines
from headscope.studies.plan import make_plan
from headscope.studies.reading import StudyFile
from headscope.studies.runner import carry_out

Read = Callable[..., StudyFile]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["headscope", *map(str, arguments)])
    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    return 0


def test_a_study_from_start_to_end_and_again(read: Read, data_folder: Path, tmp_path: Path) -> None:
    output, lines = tmp_path / "out", list[str]()
    plan = make_plan(read(), data_folder)
    outcome = carry_out(plan, output, say=lines.append)
    page = conclude(outcome, command="headscope study planted")
    verdicts = {claim.says: claim.verdict for claim in page.claims}
    assert list(verdicts.values()) == ["holds", "cannot tell"]
    assert "2 on the previous, 2 on the next, of 16" in page.claims[0].here
    run = open_run(outcome.runs["look"])
    assert set(run.table("roles")["tau"].to_pylist()) == {2.0}
    report = (output / "report.html").read_text(encoding="utf-8")
    assert "Where heads look" in report
    assert "https://" not in report.split("<style>")[0]
    summary = (output / "study.md").read_text(encoding="utf-8")
    assert "| sep | 1 | 0.5 |" in summary
    assert "| cls | – | 0.25 |" in summary
    assert "headscope study planted" in summary

    again = list[str]()
    same = carry_out(make_plan(read(), data_folder), output, say=again.append)
    assert all("done before" in line for line in again)
    assert all(done.reused for done in same.done.values())

    changed = list[str]()
    file = read(("tau = 2.0", "tau = 4.0"))
    other = carry_out(make_plan(file, data_folder), output, say=changed.append)
    assert other.done["look"].reused
    assert not other.done["roles"].reused
    assert set(open_run(other.runs["look"]).table("roles")["tau"].to_pylist()) == {4.0}

    # what was added last stands in the run, so the first choice has to be added again
    back = carry_out(make_plan(read(), data_folder), output)
    assert not back.done["roles"].reused
    assert set(open_run(back.runs["look"]).table("roles")["tau"].to_pylist()) == {2.0}


def test_the_estimate_learns_from_what_is_done(
    read: Read, data_folder: Path, tmp_path: Path
) -> None:
    plan = make_plan(read(), data_folder)
    before = estimate(plan, tmp_path / "out")
    assert set(before.seconds) == {"look", "roles"}
    assert "measured here" in before.basis()
    (tmp_path / "out" / "done").mkdir(parents=True)
    one = plan["look"]
    one.folder(tmp_path / "out").mkdir(parents=True)
    told = {"fingerprint": one.fingerprint, "result": {}, "seconds": 1000.0}
    one.mark(tmp_path / "out").write_text(json.dumps(told))
    after = estimate(plan, tmp_path / "out")
    assert set(after.seconds) == {"roles"}
    assert after.factor > 10
    assert "done" in plan_lines(plan, after)[0]


def test_an_optional_step_that_cannot_be_done_is_left_out(
    read: Read, data_folder: Path, tmp_path: Path
) -> None:
    more = (
        '[steps.gradient]\ndo = "analyze"\nmodel = "main"\ncorpus = "texts"\n'
        'measures = ["gradient"]\noptional = true\n\n'
        '[steps.more]\ndo = "roles"\nrun = "gradient"\n\n[[show]]'
    )
    short = [
        ('["surface", "entropy", "sieve"]', '["surface"]'),
        ('[steps.roles]\ndo = "roles"\nrun = "look"\ntau = 2.0\n', ""),
    ]
    plan = make_plan(read(*short, ("[[show]]", more)), data_folder)
    outcome = carry_out(plan, tmp_path / "out")
    assert "no loss of its own" in outcome.done["gradient"].refused
    assert outcome.done["more"].refused == "it needs gradient, which could not be done"
    page = conclude(outcome)
    assert any(line.startswith("gradient could not be carried out") for line in page.absent)
    needed = more.replace("optional = true\n", "")
    strict = make_plan(read(*short, ("[[show]]", needed)), data_folder)
    with pytest.raises(Exception, match="nothing to measure"):
        carry_out(strict, tmp_path / "out")


def test_another_study_s_folder_is_refused(read: Read, data_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="not empty and no study"):
        carry_out(make_plan(read(), data_folder), output)
    assert [p.name for p in output.iterdir()] == ["notes.txt"]
    (output / "notes.txt").unlink()
    (output / "study.json").write_text('{"study": "other"}')
    with pytest.raises(RunError, match="holds the study 'other'"):
        carry_out(make_plan(read(), data_folder), output)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'files = ["texts.txt"]',
            'files = ["gone.txt"]',
            "study.toml:10: found corpora.texts.files",
        ),
        ('do = "analyze"', 'do = "guess"', "the step 'guess'"),
        ('run = "look"', 'run = "roles"', "a cycle: roles → roles"),
        ('["surface", "entropy", "sieve"]', '["surfing"]', "unknown measure 'surfing'"),
    ],
)
def test_wrong_studies_are_refused_before_any_work(
    study_text: str,
    data_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    old: str,
    new: str,
    words: str,
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(study_text.replace(old, new))
    output = tmp_path / "out"
    assert command(monkeypatch, "study", file, "--data", data_folder, "-o", output) == 2
    said = capfd.readouterr().err
    assert words in said, said
    assert "expected" in said
    assert not output.exists()


def test_new_list_and_plan(
    study_text: str,
    data_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert command(monkeypatch, "study", "new", tmp_path / "mine.toml") == 0
    assert (tmp_path / "mine.toml").read_text().startswith("# A study for headscope")
    assert command(monkeypatch, "study", "new", tmp_path / "mine.toml") == 2
    assert command(monkeypatch, "study", "list") == 0
    assert "kovaleva2019" in capfd.readouterr().out
    assert command(monkeypatch, "study", "list", "--claims") == 0
    assert "A head finds direct objects" in capfd.readouterr().out
    file = tmp_path / "study.toml"
    file.write_text(study_text)
    assert command(monkeypatch, "study", file, "--data", data_folder, "--plan") == 0
    said = capfd.readouterr().out
    assert "2. roles  roles" in said
    assert "GFLOP/s" in said
    assert command(monkeypatch, "study", file, "--data", data_folder) == 2
    assert command(monkeypatch, "study", "nothing", "-o", tmp_path / "x") == 2
    assert "expected one of clark2019" in capfd.readouterr().err


def test_a_killed_study_goes_on_inside_its_step(
    study_text: str, data_folder: Path, tmp_path: Path
) -> None:
    """Kill it after the first shard; the whole must end as if nothing had happened."""
    texts = data_folder / "texts.txt"
    texts.write_text(texts.read_text() * 8)  # so that a pass has many shards
    file, output = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(study_text)
    asked = [sys.executable, "-m", "headscope", "study", str(file), "--data", str(data_folder)]
    begun = subprocess.Popen(
        [*asked, "-o", str(output)],
        env=ONE_THREAD,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and begun.poll() is None:
        if list(output.glob("runs/look-*/checkpoints/*")):
            os.killpg(begun.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    begun.wait(timeout=60)
    begun.stdout.close() if begun.stdout else None
    assert begun.returncode == -signal.SIGKILL
    assert not list(output.glob("done/*.json"))
    n_kept = len(list(output.glob("runs/look-*/checkpoints/*")))
    assert n_kept

    from headscope.studies import run_study

    outcome = run_study(file, output, data=data_folder)
    assert not outcome.done["look"].reused
    mark = json.loads(next(output.glob("done/look-*.json")).read_text())
    assert mark["resumed"]
    whole = run_study(file, tmp_path / "whole", data=data_folder)
    for table in ("surface", "entropy", "sieve", "roles"):
        resumed, straight = (
            o.runs["look"] / "tables" / f"{table}.parquet" for o in (outcome, whole)
        )
        assert resumed.read_bytes() == straight.read_bytes(), table
    assert (output / "report.html").is_file()


def test_a_paper_from_start_to_end(data: Path, real_models: Path, tmp_path: Path) -> None:
    """Every step of clark2019 on a model of 2 × 2 heads, with a handful of sentences."""
    from headscope.studies import run_study

    outcome = run_study(
        "clark2019",
        tmp_path / "out",
        data=data,
        model=str(real_models / "bert-tiny-question-clf"),
        scale="tiny",
    )
    assert not [name for name, done in outcome.done.items() if done.refused]
    assert "gradient" in open_run(outcome.runs["task_gradient"]).tables
    summary = (tmp_path / "out" / "study.md").read_text(encoding="utf-8")
    for part in ("Figure 1", "Figure 2", "Figure 3", "Table 1", "Table 2", "Table 3", "Figure 6"):
        assert f"## {part}" in summary, part
    assert "| attention_vectors |" in summary
    assert "86.8 % (head 8-10)" in summary
