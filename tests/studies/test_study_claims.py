"""Claims on tables made by hand: both outcomes, and no answer where there is no data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headscope.store import ModelRecord, RunRecord, RunWriter, open_run
from headscope.studies.claim import CLAIMS, Finding, Labelled
from headscope.types import Result

Tables = Mapping[str, Mapping[str, list[Any]]]


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Ask a claim of runs with these tables, one run per set of tables."""
    count = iter(range(1000))

    def asking(name: str, *several: Tables) -> Finding:
        runs = []
        for tables in several:
            path = tmp_path / f"run{next(count)}"
            record = RunRecord(model=ModelRecord(name="made"))
            with RunWriter.open(path, record) as writer:
                writer.complete({"made": Result(tables=tables)}, record)
            runs.append(Labelled(path.name, open_run(path)))
        return CLAIMS[name].ask(runs)

    return asking


def heads(n_layers: int, n_heads: int) -> dict[str, list[Any]]:
    pairs = [(i, j) for i in range(n_layers) for j in range(n_heads)]
    return {"layer": [i for i, _ in pairs], "head": [j for _, j in pairs]}


def best(relation: str, accuracy: float, baseline: float, n: int) -> Tables:
    row = {
        "relation": relation, "layer": 2, "head": 0, "direction": "dependent_to_head",
        "accuracy": accuracy, "ci_low": accuracy - 0.02, "ci_high": accuracy + 0.02, "n": n,
        "offset": -2, "baseline": baseline, "margin": accuracy - baseline,
        "held_out_accuracy": accuracy, "held_out_baseline": baseline,
        "held_out_margin": accuracy - baseline,
    }  # fmt: skip
    return {"parser_best": {name: [value] for name, value in row.items()}}


def test_a_head_that_finds_objects(ask: Any) -> None:
    found = ask("a_head_finds_direct_objects", best("dobj", 0.73, 0.38, 500))
    assert found.verdict == "holds"
    # Wilson's interval of 365 of 500
    assert (found.low, found.high) == pytest.approx((0.6894, 0.7671), abs=1e-3)
    assert "head 3-1" in found.here
    few = ask("a_head_finds_direct_objects", best("obj", 0.5, 0.4, 10))
    assert few.verdict == "cannot tell"
    worse = ask("a_head_finds_direct_objects", best("obj", 0.3, 0.4, 500))
    assert worse.verdict == "does not hold"
    other = ask("a_head_finds_direct_objects", best("det", 0.9, 0.4, 500))
    assert (other.verdict, other.n) == ("cannot tell", 0)


def test_no_head_parses_overall(ask: Any) -> None:
    assert ask("no_head_parses_overall", best("all", 0.35, 0.26, 900)).verdict == "holds"
    assert ask("no_head_parses_overall", best("all", 0.7, 0.26, 900)).verdict == "does not hold"
    assert ask("no_head_parses_overall", best("all", 0.5, 0.26, 900)).verdict == "cannot tell"


def resting(attention: list[float], gradient: list[float]) -> Tables:
    """Two layers of one head: what [SEP] gets, and how the loss reacts to it; others 1."""
    n = len(attention)
    return {
        "surface": {
            "layer": list(range(n)), "head": [0] * n, "target": ["sep"] * n, "mean": attention,
            "ci_low": attention, "ci_high": attention, "n": [9] * n,
        },
        "gradient": {
            "layer": [*range(n)] * 2, "head": [0] * 2 * n, "target": ["sep"] * n + ["other"] * n,
            "mean_abs": [*gradient, *[1.0] * n], "n": [9] * 2 * n,
        },
    }  # fmt: skip


def test_resting_is_judged_where_heads_rest(ask: Any) -> None:
    quiet = ask("resting_does_not_matter", resting([0.1, 0.9], [1.0, 0.1]))
    assert (quiet.verdict, quiet.value) == ("holds", pytest.approx(0.1))
    # little reaction where nobody looks does not count
    loud = ask("resting_does_not_matter", resting([0.1, 0.9], [0.1, 1.0]))
    assert (loud.verdict, loud.value) == ("does not hold", pytest.approx(1.0))


def roles(p_values: list[float], **assigned: list[bool]) -> Tables:
    """A model of 3 layers × 2 heads; the heads that have each role, in order."""
    places = heads(3, 2)
    columns: dict[str, list[Any]] = {name: [] for name in (*places, "role", "assigned")}
    for role, yes in assigned.items():
        columns["layer"] += places["layer"]
        columns["head"] += places["head"]
        columns["role"] += [role] * 6
        columns["assigned"] += yes
    n = len(columns["role"])
    numbers = {c: [1.0] * n for c in ("mean", "ci_low", "ci_high", "z", "q_value")}
    return {"roles": {**columns, **numbers, "p_value": (p_values * n)[:n]}}


YES, NO = [True] * 6, [False] * 6
LAST = [False, False, False, False, True, True]


def test_bimodal_p_values(ask: Any) -> None:
    clear = ask("p_values_are_bimodal", roles([0.0, 1.0], local=YES, cls=NO, sep=NO, nsubj=NO,
                                              obj=NO, amod=NO, block=NO))  # fmt: skip
    assert (clear.verdict, clear.value, clear.n) == ("holds", 0.0, 42)
    vague = ask("p_values_are_bimodal", roles([0.5], local=YES, cls=NO))
    assert (vague.verdict, vague.value) == ("does not hold", 1.0)


def test_syntactic_heads_are_local(ask: Any) -> None:
    both = ask("syntactic_heads_are_local", *[roles([0.0], local=YES, syntactic=YES)] * 3)
    assert (both.verdict, both.value, both.n) == ("holds", 1.0, 18)
    apart = ask("syntactic_heads_are_local", *[roles([0.0], local=NO, nsubj=YES)] * 3)
    assert (apart.verdict, apart.value) == ("does not hold", 0.0)
    few = ask("syntactic_heads_are_local", roles([0.0], local=YES, obj=LAST))
    assert few.verdict == "cannot tell"  # two of two: anything from 34 % on
    none = ask("syntactic_heads_are_local", roles([0.0], local=YES))
    assert none.verdict == "cannot tell"


def test_roles_by_layer(ask: Any) -> None:
    late = roles([0.0], delimiter=LAST, syntactic=NO)
    assert ask("first_layer_ignores_delimiters", late).verdict == "holds"
    always = roles([0.0], delimiter=YES)
    assert ask("first_layer_ignores_delimiters", always).verdict == "does not hold"
    assert ask("most_heads_look_at_delimiters", always).verdict == "holds"
    assert ask("most_heads_look_at_delimiters", late).verdict == "does not hold"
    assert ask("few_heads_have_no_role", late).verdict == "does not hold"
    middle = [False, False, True, True, False, False]
    several = roles([0.0], local=middle, delimiter=YES)
    assert ask("middle_layers_do_several_things", several).verdict == "holds"
    # [CLS] beside delimiter is one role, not two
    one = roles([0.0], cls=YES, delimiter=YES)
    assert ask("middle_layers_do_several_things", one).verdict == "cannot tell"
    assert ask("last_layers_have_no_syntax", roles([0.0], obj=LAST)).verdict == "does not hold"
    assert ask("last_layers_have_no_syntax", roles([0.0], obj=middle)).verdict == "holds"


def similarity(layers: list[float]) -> Tables:
    places = heads(len(layers), 2)
    cosine = [layers[layer] for layer in places["layer"]]
    return {"similarity": {**places, "cosine": cosine, "n": [10] * len(cosine)}}


def test_the_last_layers_change_most(ask: Any) -> None:
    last = similarity([0.99, 0.98, 0.9, 0.8])
    first = similarity([0.8, 0.9, 0.98, 0.99])
    assert ask("last_layers_change_most", last, last, first).verdict == "holds"
    found = ask("last_layers_change_most", first)
    assert found.verdict == "does not hold"
    assert "layers 1, 2" in found.here


def ablation(deltas: list[float], p_values: list[float], by: str = "head") -> Tables:
    n = len(deltas)
    return {
        "ablation": {
            "edit": ["uniform"] * n, "layer": [0] * n, "head": list(range(n)), "group": [None] * n,
            "metric": ["accuracy"] * n, "baseline": [0.8] * n,
            "value": [0.8 + d for d in deltas], "delta": deltas,
            "ci_low": [d - 0.01 for d in deltas],
            "ci_high": [d + 0.01 for d in deltas], "n": [300] * n, "by": [by] * n,
            "p_value": p_values,
        }
    }  # fmt: skip


def test_a_gain_counts_only_after_correction_for_all_that_were_tried(ask: Any) -> None:
    lucky = ablation([0.02] + [0.0] * 71, [0.01] + [1.0] * 71)
    found = ask("switching_a_head_off_helps", lucky)
    assert found.verdict == "cannot tell"  # a gain as large as the published one may be there
    assert "+2.0 (1-1)" in found.here
    nothing = ablation([0.001] + [0.0] * 71, [0.5] + [1.0] * 71)
    assert ask("switching_a_head_off_helps", nothing).verdict == "does not hold"
    sure = ablation([0.02] + [0.0] * 71, [0.0001] + [1.0] * 71)
    assert ask("switching_a_head_off_helps", sure).verdict == "holds"
    # ten tasks of 72 heads are 720 tries: the same p-value no longer does
    assert ask("switching_a_head_off_helps", sure, *[lucky] * 9).verdict == "cannot tell"
    harmful = ablation([-0.02] + [0.0] * 71, [0.0001] + [1.0] * 71)
    assert ask("switching_a_head_off_helps", harmful).verdict == "does not hold"
    assert ask("most_heads_can_go", harmful).verdict == "holds"
    unsure = ablation([-0.015] * 72, [1.0] * 72)  # intervals that reach beyond a loss of 2 points
    assert ask("most_heads_can_go", unsure).verdict == "cannot tell"
    all_harm = ablation([-0.2] * 10, [0.0001] * 10)
    assert ask("most_heads_can_go", all_harm).verdict == "does not hold"
    assert ask("switching_a_layer_off_helps", sure).verdict == "cannot tell"


def clusters(stable: list[bool], names: list[str | None]) -> Tables:
    n = len(stable)
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return {
        "clusters": {
            "layer": list(range(n)), "head": [0] * n, "cluster": [number[x] for x in names],
            "name": names, "stable": stable,
        }
    }  # fmt: skip


FOUR = ["dense", "diagonal", "dense_vertical", "vertical"]


def test_kinds_of_heads(ask: Any) -> None:
    assert ask("clusters_are_stable", clusters([True] * 4, FOUR)).verdict == "holds"
    shaky = clusters([True, False, False, False], FOUR)
    assert ask("clusters_are_stable", shaky).verdict == "does not hold"
    assert ask("clusters_are_stable", clusters([False] * 4, FOUR)).verdict == "cannot tell"
    assert ask("there_are_four_kinds", clusters([True] * 4, FOUR)).verdict == "holds"
    three = clusters([True] * 4, ["dense", "diagonal", None, "vertical"])
    assert ask("there_are_four_kinds", three).verdict == "does not hold"
    assert ask("dense_heads_come_first", clusters([True] * 4, FOUR)).verdict == "holds"
    backwards = clusters([True] * 4, FOUR[::-1])
    assert ask("dense_heads_come_first", backwards).verdict == "does not hold"


def groups(how: str, **deltas: float) -> dict[str, list[Any]]:
    names = list(deltas)
    n = len(names)
    values = list(deltas.values())
    return {
        "edit": [how] * n, "layer": [None] * n, "head": [None] * n, "group": names,
        "metric": ["f1"] * n, "baseline": [0.8] * n, "value": [0.8 + v for v in values],
        "delta": values, "ci_low": [v - 0.01 for v in values],
        "ci_high": [v + 0.01 for v in values],
        "n": [100] * n, "by": ["cluster"] * n, "n_heads": [4] * n,
    }  # fmt: skip


def test_what_kinds_are_for(ask: Any) -> None:
    vital = {"ablation": groups("zero", diagonal=-0.7, dense=-0.03, vertical=-0.005)}
    assert ask("diagonal_heads_are_vital", vital).verdict == "holds"
    assert ask("vertical_heads_can_go", vital).verdict == "holds"
    wide = {"ablation": groups("zero", vertical=-0.015)}
    assert ask("vertical_heads_can_go", wide).verdict == "cannot tell"
    other = {"ablation": groups("zero", diagonal=-0.1, dense=-0.5, vertical=-0.3)}
    assert ask("diagonal_heads_are_vital", other).verdict == "does not hold"
    assert ask("vertical_heads_can_go", other).verdict == "does not hold"
    inside = {"ablation": groups("inter", diagonal=-0.6)}
    across = {"ablation": groups("intra", diagonal=-0.01)}
    assert ask("diagonal_heads_are_local", inside, across).verdict == "holds"
    alike = {"ablation": groups("intra", diagonal=-0.59)}
    assert ask("diagonal_heads_are_local", inside, alike).verdict == "cannot tell"
    trivial = {"ablation": groups("uniform", dense=-0.02, diagonal=-0.6)}
    assert ask("dense_heads_are_trivial", trivial).verdict == "holds"
    beaten = {"ablation": groups("uniform", dense=-0.05, diagonal=-0.01)}
    assert ask("dense_heads_are_trivial", beaten).verdict == "does not hold"
    close = {"ablation": groups("uniform", dense=-0.02, diagonal=-0.01)}
    assert ask("dense_heads_are_trivial", close).verdict == "cannot tell"
    unnamed = {"ablation": groups("zero", dense=-0.6)}
    assert ask("diagonal_heads_are_vital", unnamed).verdict == "cannot tell"


def probe(top: list[float], layer: list[float]) -> Tables:
    """Two heads a layer; top heads and best layer of several tasks."""
    rows = []
    for i, (heads_, best_) in enumerate(zip(top, layer, strict=True)):
        task = f"task{i}"
        for j in range(2):
            rows.append((task, "head", 0, j, None, 0.6))
        rows += [(task, "last", 1, None, None, 0.5), (task, "best", 0, None, None, best_)]
        rows.append((task, "top_n", None, None, 2, heads_))
    names = ("task", "representation", "layer", "head", "n_heads", "test")
    columns: dict[str, list[Any]] = {n: [r[i] for r in rows] for i, n in enumerate(names)}
    columns["metric"] = ["accuracy"] * len(rows)
    columns["validation"] = [0.5] * len(rows)
    return {"probe": columns}


def test_top_heads_against_layers(ask: Any) -> None:
    won = ask("top_heads_beat_the_best_layer", probe([0.9] * 8, [0.7] * 8))
    assert (won.verdict, won.n) == ("holds", 8)
    assert "+20.0 points" in won.here
    assert "p = 0.0039" in won.here  # 2^-8
    assert ask("top_heads_beat_the_best_layer", probe([0.6] * 8, [0.7] * 8)).verdict == (
        "does not hold"
    )
    two = probe([0.9, 0.9], [0.7, 0.7])
    assert ask("top_heads_beat_the_best_layer", two).verdict == "cannot tell"  # p = 0.25
    assert ask("the_last_layer_is_not_the_best", probe([0.9] * 8, [0.7] * 8)).verdict == "holds"


def test_without_tables_nothing_can_be_told(ask: Any) -> None:
    for name in CLAIMS:
        found = ask(name, {"nothing": {"x": [1]}})
        assert found.verdict == "cannot tell", name
        assert math.isnan(found.low)
        assert found.here
    assert CLAIMS["neighbour_heads"].ask([]).verdict == "cannot tell"


def test_every_claim_says_what_it_rests_on() -> None:
    assert len(CLAIMS) >= 45
    for claim in CLAIMS.values():
        assert claim.says
        assert claim.paper.split(",")[0].endswith(tuple("0123456789"))
        assert claim.found
        assert claim.rule
        assert claim.judge.__doc__
