"""Ablations from a model and a task to a run: tables, resuming, groups, accumulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import BertForSequenceClassification

import headscope as hs
from headscope.ablations.run_groups import groups_of
from headscope.analyses.role_effect import difference_within_layers
from headscope.engine.ablate import AblationOptions, ablate
from headscope.engine.importance import importance
from headscope.engine.progress import Silent
from headscope.engine.task_data import load_for_task, read_part
from headscope.errors import RunError, UsageError
from headscope.figures import available, draw, passport_of
from headscope.models import LoadedModel, load
from headscope.store import Run, open_run
from headscope.tasks import Split, Task, find_task
from headscope.types import TokenKind
from tests.label_head import CARRIER, TEXTS, label_model, save_label_data, save_label_model
from tests.planted import planted_tokenizer

Ready = tuple[LoadedModel, Task, Split]
QUICK: dict[str, Any] = {"n_resamples": 199, "shard_size": 3}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    folder = tmp_path_factory.mktemp("ablate")
    model, task = load_for_task(
        str(save_label_model(folder / "label")), find_task("classification")
    )
    task, split = read_part(task, "dev", data=save_label_data(folder / "data"))
    return model, task, split


@pytest.fixture(scope="module")
def roles_run(ready: Ready, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose roles and clusters are written by hand."""
    folder = tmp_path_factory.mktemp("roles") / "run"
    texts = ["the cat sat.", "a dog saw the bird."]
    run = hs.analyze(ready[0], texts, folder, measures=["surface"])
    heads = ready[0].layout.heads()
    run.add_table(
        "roles",
        {
            "layer": [h.layer for h in heads],
            "head": [h.head for h in heads],
            "role": ["local"] * len(heads),
            **{k: [0.0] * len(heads) for k in ("mean", "ci_low", "ci_high", "z")},
            "p_value": [0.5] * len(heads),
            "q_value": [0.5] * len(heads),
            "assigned": [h.head in (1, 2) for h in heads],
        },
    )
    run.add_table(
        "clusters",
        {
            "layer": [h.layer for h in heads],
            "head": [h.head for h in heads],
            "cluster": [h.head % 3 for h in heads],
            "name": [("dense", "diagonal", None)[h.head % 3] for h in heads],
            "stable": [True] * len(heads),
        },
    )
    return open_run(run.path)


def rows(run: Run, metric: str = "accuracy") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.table("ablation").to_pylist()
    return [row for row in found if row["metric"] == metric]


@pytest.fixture(scope="module")
def by_head(ready: Ready, roles_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("by_head") / "run"
    return ablate(*ready, folder, options=AblationOptions(by="head", **QUICK), roles_of=roles_run)


def test_exactly_one_head_carries_the_label(by_head: Run) -> None:
    for metric in ("accuracy", "loss"):
        for row in rows(by_head, metric):
            carrier = (row["layer"], row["head"]) == (CARRIER.layer, CARRIER.head)
            if not carrier:
                assert row["delta"] == 0.0
                assert (row["ci_low"], row["ci_high"], row["p_value"]) == (0.0, 0.0, 1.0)
            elif metric == "accuracy":
                assert (row["baseline"], row["value"], row["delta"]) == (1.0, 0.5, -0.5)
                assert row["ci_low"] < row["ci_high"] <= 0
            else:
                assert row["delta"] > 0
            assert row["n"] == 8
    assert (
        "Without head 2-3, accuracy goes from 1.000 to 0.500" in draw(by_head, "ablation").sentence
    )


def test_the_importance_stands_beside_it(by_head: Run) -> None:
    scores = {(r["layer"], r["head"]): r["score"] for r in by_head.table("importance").to_pylist()}
    best = max(scores, key=lambda head: scores[head])
    assert best == (CARRIER.layer, CARRIER.head)
    assert all(score == 0 for head, score in scores.items() if head != best)
    pairs = by_head.table("ablation_estimate").to_pylist()
    assert len(pairs) == 16
    assert all(
        p["estimate"] == p["measured"] == 0 for p in pairs if (p["layer"], p["head"]) != best
    )
    assert {"ablation", "importance", "ablation_estimate", "role_effect"} <= {
        f.name for f in available(by_head)
    }
    assert (by_head.path / "report.html").stat().st_size > 10_000


def test_the_passport_joins_what_is_known(by_head: Run) -> None:
    told = {s["name"]: s["rows"] for s in passport_of(by_head, "2-3").to_dict()["sections"]}
    assert {"importance", "ablation", "roles", "clusters"} <= set(told)
    accuracy = next(row for row in told["ablation"] if row["label"] == "accuracy, uniform")
    assert accuracy["number"] == -0.5


class KilledError(Exception):
    """Stands for a power cut."""


class Killer(Silent):
    """A listener that ends the run after so many units."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, n: int, n_sequences: int = 0) -> None:
        self.left -= n
        if self.left < 0:
            raise KilledError


@pytest.mark.parametrize("by", ["head", "accumulate:greedy"])
def test_a_killed_run_goes_on_to_the_same_bytes(ready: Ready, tmp_path: Path, by: str) -> None:
    options = AblationOptions(by=by, steps=2, importance=False, **QUICK)
    once = ablate(*ready, tmp_path / "once", options=options)
    with pytest.raises(KilledError):
        ablate(*ready, tmp_path / "run", options=options, progress=Killer(80))
    with pytest.raises(RunError, match="unfinished"):
        open_run(tmp_path / "run")
    other = options.model_copy(update={"how": "zero"})
    with pytest.raises(RunError, match="asked differently"):
        ablate(*ready, tmp_path / "run", options=other, resume=True)
    again = ablate(*ready, tmp_path / "run", options=options, resume=True)
    table = "tables/ablation.parquet"
    assert (again.path / table).read_bytes() == (once.path / table).read_bytes()


def test_layers_roles_and_clusters(ready: Ready, roles_run: Run, tmp_path: Path) -> None:
    def run(by: str, **options: Any) -> dict[str, dict[str, Any]]:
        path = tmp_path / f"{by}-{'-'.join(options.get('combine', ()))}".replace(":", "_")
        done = ablate(
            *ready,
            path,
            options=AblationOptions(by=by, **options, **QUICK),
            roles_of=roles_run,
        )
        assert draw(done, "ablation").sentence
        return {row["group"]: row for row in rows(done)}

    layers = run("layer")
    assert layers["layer 1"]["delta"] == 0.0
    assert layers["layer 2"]["delta"] == -0.5
    assert (layers["layer 2"]["layer"], layers["layer 2"]["head"]) == (1, None)
    roles = run("role")
    assert set(roles) == {"local"}
    assert roles["local"]["n_heads"] == 4
    clusters = run("cluster", combine=("single", "pairs", "all-but-one"))
    assert clusters["dense"]["delta"] == 0.0
    assert clusters["cluster 3"]["delta"] == -0.5  # heads 3 and 6 of every layer
    assert clusters["dense + diagonal"]["delta"] == 0.0
    assert clusters["all but cluster 3"]["delta"] == 0.0
    assert clusters["all but dense"]["delta"] == -0.5
    assert set(run("cluster:diagonal")) == {"diagonal"}
    assert run("set:1-1,2-3")["1-1,2-3"]["delta"] == -0.5


def test_groups_come_from_the_run(roles_run: Run) -> None:
    groups = groups_of(roles_run)
    assert set(groups.clusters) == {"dense", "diagonal", "cluster 3"}
    assert {str(head) for head in groups.roles["local"]} == {"1-2", "1-3", "2-2", "2-3"}


def test_pairs_show_interactions(tmp_path: Path) -> None:
    """Two heads that do the same: either alone is not missed, both together are."""
    model = label_model()
    dense = model.bert.encoder.layer[1].attention.output.dense
    width = 80
    with torch.no_grad():
        # head 2-2 (`previous`: from [CLS] itself) is given what 2-3 sees, and writes it too
        attention = model.bert.encoder.layer[1].attention.self
        for part in (attention.query, attention.key):
            part.weight[width : 2 * width] = part.weight[2 * width : 3 * width]
            part.bias[width : 2 * width] = part.bias[2 * width : 3 * width]
        dense.weight[:, width : 2 * width] = dense.weight[:, 2 * width : 3 * width]
    loaded = load(model, planted_tokenizer())
    task = find_task("classification").for_model(loaded)
    task, split = read_part(task, "dev", data=save_label_data(tmp_path / "data"))
    options = AblationOptions(by="pairs:2-2,2-3,1-1", how="zero", importance=False, **QUICK)
    run = ablate(loaded, task, split, tmp_path / "run", options=options)
    found = {
        (r["layer_a"], r["head_a"], r["layer_b"], r["head_b"]): r["interaction"]
        for r in run.table("interaction").to_pylist()
        if r["metric"] == "accuracy"
    }
    assert found == {(1, 1, 1, 2): -0.5, (0, 0, 1, 1): 0.0, (0, 0, 1, 2): 0.0}


@pytest.mark.parametrize("order", ["importance", "change", "greedy"])
def test_the_carrier_is_the_last_to_go(ready: Ready, tmp_path: Path, order: str) -> None:
    steps = 3 if order == "greedy" else 16
    options = AblationOptions(by=f"accumulate:{order}", steps=steps, **QUICK)
    run = ablate(*ready, tmp_path / "run", options=options)
    curve = sorted(rows(run), key=lambda row: row["step"])
    assert [row["n_heads"] for row in curve] == list(range(1, steps + 1))
    # a random half of the examples ordered the heads, the other draws the curve
    assert {row["n"] for row in curve} == {4}
    assert all(row["delta"] == 0.0 for row in curve[:15])
    if order != "greedy":
        half = np.random.default_rng(0).permutation(8)[4:]
        assert curve[15]["value"] == np.mean([TEXTS[i][1] == "dog" for i in half]) < 1
    assert f"With all {steps} heads of the curve switched off" in draw(run, "ablation").sentence


def test_a_target_precision_spares_work(ready: Ready, tmp_path: Path) -> None:
    model, task, split = ready
    many = Split("dev", split.examples * 40, split.files, split.fingerprint)
    options = AblationOptions(
        by="head", precision=0.01, importance=False, n_resamples=199, shard_size=60
    )
    run = ablate(model, task, many, tmp_path / "run", options=options)
    counted = {(r["layer"], r["head"]): r["n"] for r in rows(run)}
    carrier = counted.pop((CARRIER.layer, CARRIER.head))
    assert carrier == 320, "half of all answers change: that takes long to know to ± 0.01"
    assert set(counted.values()) == {120}, "no answer changes: that is known at the first look"


def test_importance_alone(ready: Ready, tmp_path: Path) -> None:
    run = importance(*ready, tmp_path / "run")
    assert set(run.tables) == {"importance", "importance_estimate", "gradient"}
    assert "The loss depends most on head 2-3" in draw(run, "importance").sentence


def test_the_gradient_of_a_task_by_the_librarys_own_maps(tmp_path: Path) -> None:
    """|∂loss/∂attention| per key class, from output_attentions and a loop over rows and keys."""
    torch.manual_seed(1)
    config = label_model().config
    config.hidden_size, config.num_attention_heads, config.intermediate_size = 16, 2, 16
    config.initializer_range = 0.5
    config._attn_implementation = "eager"
    model = BertForSequenceClassification(config).eval()
    loaded = load(model, planted_tokenizer())
    task = find_task("classification").for_model(loaded)
    task, split = read_part(task, "dev", data=save_label_data(tmp_path / "data"))
    run = importance(loaded, task, split, tmp_path / "run")
    prepared, _ = task.prepare(split, task.encoder(loaded))
    found: dict[tuple[int, int, str], list[float]] = {}
    for one in prepared:
        ids = torch.from_numpy(one.encoded.input_ids)[None]
        output = model(input_ids=ids, output_attentions=True)
        loss = functional.cross_entropy(output.logits, torch.tensor([one.target]))
        for layer, gradient in enumerate(torch.autograd.grad(loss, output.attentions)):
            for head, rows in enumerate(gradient[0].abs().double().numpy()):
                for kind in ("cls", "sep", "other"):
                    here = one.encoded.kinds == TokenKind[kind.upper()]
                    if here.any():
                        value = float(np.mean([row[here].mean() for row in rows]))
                        found.setdefault((layer, head, kind), []).append(value)
    table = {
        (r["layer"], r["head"], r["target"]): r["mean_abs"]
        for r in run.table("gradient").to_pylist()
        if r["target"] in ("cls", "sep", "other")
    }
    assert table.keys() == found.keys()
    for key, values in found.items():
        assert table[key] == pytest.approx(np.mean(values), rel=1e-4, abs=1e-9), key


def test_importance_by_finite_differences(tmp_path: Path) -> None:
    """|∂L/∂ξ| per sequence, with the gate turned by hand in the output projection."""
    torch.manual_seed(0)
    config = label_model().config
    config.hidden_size, config.num_attention_heads, config.intermediate_size = 16, 2, 16
    config.initializer_range = 0.5
    model = BertForSequenceClassification(config).double().eval()
    loaded = load(model.float(), planted_tokenizer())
    task = find_task("classification").for_model(loaded)
    task, split = read_part(task, "dev", data=save_label_data(tmp_path / "data"))
    run = importance(loaded, task, split, tmp_path / "run")
    estimates = {
        (r["layer"], r["head"]): r["delta_loss"]
        for r in run.table("importance_estimate").to_pylist()
        if r["edit"] == "zero"
    }
    model = model.double()
    prepared, _ = task.prepare(split, task.encoder(loaded))

    def losses() -> np.ndarray[Any, Any]:
        found = []
        for one in prepared:
            with torch.no_grad():
                ids = torch.from_numpy(one.encoded.input_ids)[None]
                logits = model(input_ids=ids).logits
            found.append(
                float(torch.nn.functional.cross_entropy(logits, torch.tensor([one.target])))
            )
        return np.array(found)

    step = 1e-4
    for row in run.table("importance").to_pylist():
        weight = model.bert.encoder.layer[row["layer"]].attention.output.dense.weight
        columns = slice(row["head"] * 8, row["head"] * 8 + 8)
        kept = weight.detach().clone()
        sides = []
        for sign in (1, -1):
            with torch.no_grad():
                weight[:, columns] = kept[:, columns] * (1 + sign * step)
            sides.append(losses())
        with torch.no_grad():
            weight.copy_(kept)
        slopes = (sides[0] - sides[1]) / (2 * step)
        assert row["score"] == pytest.approx(np.abs(slopes).mean(), rel=1e-3, abs=1e-6)
        assert estimates[row["layer"], row["head"]] == pytest.approx(
            -slopes.mean(), rel=1e-3, abs=1e-6
        )


def test_wrong_requests_leave_nothing(ready: Ready, roles_run: Run, tmp_path: Path) -> None:
    for by, message in (
        ("set:9-1", "no head 9-1: the model has 2 layers"),
        ("set:1-9", "layer 1 has 8 heads"),
        ("set:one", "is no head"),
        ("set:", "expected heads"),
        ("heads", "expected one of head"),
        ("role:strange", "the run's roles with heads are local"),
        ("accumulate:age", "expected accumulate:importance"),
        ("head:1-1", "use set:1-1"),
        ("pairs:1-1", "at least two different heads"),
    ):
        options = AblationOptions(by=by, **QUICK)
        with pytest.raises(UsageError, match=message):
            ablate(*ready, tmp_path / "run", options=options, roles_of=roles_run)
        assert not (tmp_path / "run").exists()


def test_permutations_within_layers_against_all_of_them() -> None:
    """Every shuffle of a small case, counted."""
    from itertools import combinations

    effects = np.array([0.1, 0.9, 0.4, 0.8, 0.2, 0.7])
    layers = np.array([0, 0, 0, 1, 1, 1])
    chosen = np.array([False, True, False, True, False, True])
    ours, p_value = difference_within_layers(effects, chosen, layers)
    found = []
    for first in combinations(range(3), 1):
        for second in combinations(range(3, 6), 2):
            mask = np.zeros(6, dtype=bool)
            mask[[*first, *second]] = True
            found.append(effects[mask].mean() - effects[~mask].mean())
    assert ours == pytest.approx(effects[chosen].mean() - effects[~chosen].mean())
    assert p_value == pytest.approx(np.mean(np.array(found) >= ours - 1e-12), abs=0.02)
