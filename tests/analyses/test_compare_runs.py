"""Comparing runs: changes by hand, what is refused, and the folder that is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import headscope as hs
from headscope.analyses.compare import compare_runs, write_comparison
from headscope.analyses.role_changes import paired, thirds
from headscope.analyses.role_test import RoleTestOptions
from headscope.cli.app import app
from headscope.errors import RunError, UsageError
from headscope.figures import draw
from headscope.models import LoadedModel, load
from headscope.store import Run, open_run
from tests.analyses.conftest import texts
from tests.planted import HEADS, planted_model, planted_tokenizer


def _swapped() -> LoadedModel:
    """The planted model, with its heads for [CLS] and for everywhere exchanged in layer 2."""
    model = planted_model()
    attention = model.encoder.layer[1].attention.self
    size = attention.attention_head_size
    a, b = HEADS.index("cls") * size, HEADS.index("everywhere") * size
    with torch.no_grad():
        for part in (attention.query, attention.key):
            for tensor in (part.weight, part.bias):
                first, second = tensor[a : a + size].clone(), tensor[b : b + size].clone()
                tensor[a : a + size], tensor[b : b + size] = second, first
    return load(model, planted_tokenizer())


@pytest.fixture(scope="module")
def swapped_run(analyzed: Callable[..., Run]) -> Run:
    return analyzed(model=_swapped())


def test_thirds_cover_every_layer() -> None:
    assert [list(thirds(12).values()).count(t) for t in ("initial", "middle", "final")] == [4, 4, 4]
    assert thirds(1) == {0: "initial"}
    assert set(thirds(2).values()) == {"initial", "middle"}


def test_a_swap_moves_one_role_and_changes_no_mean(planted_run: Run, swapped_run: Run) -> None:
    tables = compare_runs([planted_run, swapped_run])
    changes = tables["role_changes"]
    # Two layers: the first third and the middle one; exchanging heads leaves their mean alone.
    assert set(changes["third"]) == {"initial", "middle"}
    np.testing.assert_allclose(changes["change"], 0.0, atol=1e-5)
    moves = tables["role_moves"]
    found = {
        (moves["layer"][i], HEADS[moves["head"][i]], moves["role"][i], moves["move"][i])
        for i in range(len(moves["role"]))
    }
    assert (1, "cls", "cls", "lost") in found
    assert (1, "everywhere", "cls", "gained") in found
    assert {layer for layer, *_ in found} == {1}


def test_changes_are_paired_differences(planted_run: Run, analyzed: Callable[..., Run]) -> None:
    """Layer 2 of the other model looks everywhere: by hand, its scores become 1."""
    model = planted_model()
    with torch.no_grad():
        model.encoder.layer[1].attention.self.key.weight.zero_()
    flat = analyzed(model=load(model, planted_tokenizer()))
    pair = paired(planted_run, flat)
    changes = compare_runs([planted_run, flat])["role_changes"]
    for i, (third, role) in enumerate(zip(changes["third"], changes["role"], strict=True)):
        heads = [k for k, h in enumerate(pair.heads) if h.layer == (third != "initial")]
        before = pair.before[:, heads, pair.roles.index(role)]
        before = before[~np.isnan(before[:, 0])].mean(axis=1)
        difference = 1.0 - before if third == "middle" else np.zeros(len(before))
        assert changes["change"][i] == pytest.approx(difference.mean(), abs=1e-4)
        half = changes["ci_high"][i] - changes["change"][i]
        # t(0.975, 59) = 2.001 for the roles that all sixty texts have
        if len(before) == 60:
            expected = 2.001 * difference.std(ddof=1) / np.sqrt(60)
            assert half == pytest.approx(expected, rel=1e-2, abs=1e-5)


def test_other_corpora_tokens_and_roles_are_refused(
    planted_run: Run, analyzed: Callable[..., Run]
) -> None:
    other = analyzed(texts(59))
    with pytest.raises(RunError, match=r"corpus: .*60 sequences.*59 sequences"):
        compare_runs([planted_run, other])
    tokenizer = planted_tokenizer()
    tokenizer.backend_tokenizer.normalizer = None  # reads "The" as [UNK] …
    reads_alike = analyzed(model=load(planted_model(), tokenizer))
    compare_runs([planted_run, reads_alike])  # … but these texts are lower-case
    fewer = analyzed(parameters={"roles": "cls,sep"})
    with pytest.raises(RunError, match=r"sieve\.roles"):
        compare_runs([planted_run, fewer])
    shorter = analyzed(max_tokens=12)
    with pytest.raises(RunError, match="max_tokens: 40 – 12"):
        compare_runs([planted_run, shorter])
    with pytest.raises(UsageError):
        compare_runs([planted_run])


def test_other_tokenizers_are_refused(analyzed: Callable[..., Run]) -> None:
    items = ["The cat sat .", "She ran ."] * 5
    tokenizer = planted_tokenizer()
    tokenizer.backend_tokenizer.normalizer = None
    lower, exact = analyzed(items), analyzed(items, model=load(planted_model(), tokenizer))
    with pytest.raises(RunError, match="tokenizer"):
        compare_runs([lower, exact])


def test_the_command_writes_a_run_with_a_report(
    planted_run: Run, swapped_run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "compared"
    command = ["compare", str(planted_run.path), str(swapped_run.path)]
    done = CliRunner().invoke(app, [*command, "-o", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert {row["move"] for row in told["role_moves"]} == {"gained", "lost"}
    written = open_run(folder)
    assert {"role_changes", "role_moves"} <= set(written.tables)
    assert "What fine-tuning changed" in (folder / "report.html").read_text()
    picture = draw(written, "role_changes")
    assert "heads gained" in picture.sentence
    assert "nan" not in picture.sentence


def test_nothing_is_written_when_runs_cannot_be_compared(
    planted_run: Run, analyzed: Callable[..., Run], tmp_path: Path
) -> None:
    other = analyzed(texts(30))
    done = CliRunner().invoke(
        app, ["compare", str(planted_run.path), str(other.path), "-o", str(tmp_path / "c")]
    )
    assert isinstance(done.exception, RunError) or done.exit_code == 2
    assert not (tmp_path / "c").exists()


def test_several_models_against_one(planted_run: Run, swapped_run: Run, tmp_path: Path) -> None:
    tables = compare_runs([planted_run, swapped_run, planted_run])
    assert len(set(tables["role_changes"]["model"])) == 2
    run = write_comparison([planted_run, swapped_run, planted_run], tables, tmp_path / "c")
    assert draw(run, "role_changes").themed()


def test_a_run_compares_itself_with_others(
    planted_run: Run, swapped_run: Run, tmp_path: Path
) -> None:
    opened = hs.open_run(planted_run.path)
    found = opened.compare(swapped_run, output=tmp_path / "c", tau=2)
    expected = compare_runs([planted_run, swapped_run], RoleTestOptions(tau=2))
    assert found.table("role_moves").to_pydict() == expected["role_moves"]
    assert (found.path / "report.html").is_file()
    assert found.record.request.settings["roles"]["tau"] == 2
