"""What the figures say is what the tables say."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pytest
from altair.utils import schemapi

from headscope.errors import UsageError
from headscope.figures import FIGURES, Picture, Table, available, draw, figure

NAN = math.nan


def surface_table(rows: list[tuple[Any, ...]]) -> dict[str, dict[str, list[Any]]]:
    names = ("layer", "head", "target", "mean", "ci_low", "ci_high", "n")
    return {"surface": dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))}


@pytest.fixture
def two_by_two(make_run: Any) -> Any:
    """Head 2-1 is a previous-token head; head 1-2 rests on [SEP]; head 2-2 has no punct."""
    return make_run(
        (("self", 2, 2),),
        tables=surface_table(
            [
                (0, 0, "prev", 0.10, 0.08, 0.12, 40),
                (0, 1, "prev", 0.20, 0.18, 0.22, 40),
                (1, 0, "prev", 0.90, 0.88, 0.92, 40),
                (1, 1, "prev", 0.30, 0.28, 0.32, 40),
                (0, 0, "sep", 0.05, 0.04, 0.06, 40),
                (0, 1, "sep", 0.60, 0.55, 0.65, 40),
                (1, 0, "sep", 0.55, 0.50, 0.60, 40),
                (1, 1, "sep", 0.01, 0.00, 0.02, 40),
                (0, 0, "other", 0.99, 0.98, 1.00, 40),
                (0, 0, "punct", 0.00, 0.00, 0.00, 40),
                (1, 1, "punct", NAN, NAN, NAN, 0),
            ]
        ),
    )


def test_surface_names_the_strongest_head_and_counts_those_over_half(two_by_two: Any) -> None:
    picture = draw(two_by_two, "surface")
    # `other` (0.99) is everything else and no target of its own.
    assert picture.sentence == (
        "Head 2-1 is the most single-minded: it puts 90.0 % of its attention on the previous token "
        "(95 % interval 88.0–92.0 %, n = 40 sequences); of 4 heads, 1 puts more than half on the "
        "previous token and 2 on [SEP]."
    )
    assert picture.table is not None
    rows = {row[0]: row[1:] for row in picture.table.rows}
    assert rows["[SEP]"] == ("1-2", "60.0 %", "55.0–65.0 %", "40", "2")


def test_layers_peak_where_the_mean_of_their_heads_is_highest(two_by_two: Any) -> None:
    # Layer 2, prev: (0.90 + 0.30) / 2 = 0.60, ends (0.88 + 0.28) / 2 = 0.58 and 0.62.
    # Layer 1, sep: (0.05 + 0.60) / 2 = 0.325 beats layer 2: 0.28.
    assert draw(two_by_two, "surface_by_layer").sentence == (
        "Attention to the previous token is highest in layer 2, 60.0 % on average over 2 heads "
        "(95 % interval no wider than 58.0–62.0 %); to [SEP] in layer 1 (32.5 %) and periods and "
        "commas in layer 1 (0.0 %)."
    )


def test_no_data_is_null_and_a_crossed_cell_never_zero(two_by_two: Any) -> None:
    picture = draw(two_by_two, "surface")
    rows = [r for r in picture.spec()["datasets"]["heads"] if r["what"] == "punct"]
    by_head = {(r["layer"], r["head"]): r for r in rows}
    assert by_head[1, 1]["value"] == 0.0
    assert by_head[2, 2]["value"] is None
    assert by_head[2, 2]["n"] == 0
    styles = [part["mark"].get("style") for part in picture.spec()["concat"][0]["layer"]]
    assert styles == [None, "no_data", "no_data_sign"]
    assert "no data" in picture.note


def test_a_corpus_of_one_sequence_has_no_interval(make_run: Any) -> None:
    table = surface_table([(0, 0, "prev", 0.4, NAN, NAN, 1)])
    run = make_run((("self", 1, 1),), tables=table)
    assert "(no interval, n = 1 sequence); none of the 1 head" in draw(run, "surface").sentence
    assert "(no interval)" in draw(run, "surface_by_layer").sentence


def test_only_missing_numbers_still_make_a_picture(make_run: Any) -> None:
    run = make_run((("self", 1, 1),), tables=surface_table([(0, 0, "prev", NAN, NAN, NAN, 0)]))
    assert draw(run, "surface").sentence == "No head has data for any of these targets."
    assert [unit.name for unit in available(run)] == ["surface", "surface_by_layer"]
    assert draw(run, "surface_by_layer").sentence.startswith("No layer has data")


def test_entropy_names_broadest_and_narrowest_head(make_run: Any) -> None:
    names = ("layer", "head", "rows", "mean_nats", "ci_low", "ci_high", "n")
    rows = [
        (0, 0, "all", 3.0, 2.9, 3.1, 9),
        (0, 1, "all", 2.0, 1.9, 2.1, 9),
        (1, 0, "all", 0.5, 0.4, 0.6, 9),
        (1, 1, "all", NAN, NAN, NAN, 0),
        (0, 0, "cls", 1.0, 0.9, 1.1, 9),
        (1, 0, "cls", 2.5, 2.4, 2.6, 9),
    ]
    table = {"entropy": dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))}
    picture = draw(make_run((("self", 2, 2),), tables=table), "entropy")
    assert picture.sentence == (
        "Attention is broadest in head 1-1 (3.00 nats, 95 % interval 2.90–3.10, n = 9 sequences) "
        "and narrowest in 2-1 (0.50 nats, 95 % interval 0.40–0.60, n = 9 sequences); from [CLS] "
        "alone it is broadest in layer 2, 2.50 nats on average."
    )


def test_heads_of_several_stacks_keep_their_names_and_blocks(make_run: Any) -> None:
    run = make_run((("encoder", 2, 3), ("decoder", 2, 3), ("cross", 2, 3)))
    picture = draw(run, "surface")
    assert "Head " in picture.sentence
    assert any(f"{stack}:" in picture.sentence for stack in ("encoder", "decoder", "cross"))
    titles = [block["title"]["text"] for block in picture.spec()["vconcat"]]
    assert titles == ["Encoder self-attention", "Decoder self-attention", "Cross-attention"]


def test_compared_panels_share_one_colour_scale(make_run: Any) -> None:
    spec = draw(make_run(), "surface").spec()
    scales = [panel["layer"][0]["encoding"]["color"]["scale"] for panel in spec["concat"]]
    assert scales == [{"clamp": True, "domain": [0, 1], "scheme": "viridis"}] * len(scales)


@pytest.mark.parametrize("name", ["surface", "surface_by_layer", "entropy"])
def test_specifications_are_valid_and_the_picture_shows_itself(make_run: Any, name: str) -> None:
    picture = draw(make_run((("self", 2, 2),)), name)
    schemapi.validate_jsonschema(picture.themed("dark"), alt.load_schema())
    assert "$schema" not in picture.spec()
    shown = picture._repr_mimebundle_()
    assert shown["text/plain"] == f"{picture.title}\n{picture.sentence}"
    assert 'src="data:image/svg+xml;base64,' in shown["text/html"]
    assert shown["application/vnd.vegalite.v6+json"] == picture.themed("paper")


def test_a_global_theme_does_not_leak_in(make_run: Any) -> None:
    with alt.theme.enable("dark"):
        assert "config" not in draw(make_run((("self", 1, 2),)), "entropy").spec()


def test_a_figure_without_its_table_is_left_out_and_refused_by_name(two_by_two: Any) -> None:
    assert [unit.name for unit in available(two_by_two)] == ["surface", "surface_by_layer"]
    with pytest.raises(UsageError, match=r"lacks the table entropy.*surface, surface_by_layer"):
        draw(two_by_two, "entropy")
    with pytest.raises(UsageError, match="did you mean 'surface'"):
        draw(two_by_two, "surfaces")


def test_one_decorator_adds_a_figure(two_by_two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _ = len(FIGURES)
    monkeypatch.setattr(FIGURES, "_units", dict(FIGURES._units))

    @figure("mine", tables=("surface",), order=1)
    def mine(run: Any) -> Picture:
        return Picture("Mine", "Found.", alt.Chart().mark_point(), "nothing")

    assert next(unit.name for unit in available(two_by_two)) == "mine"
    assert draw(two_by_two, "mine").sentence == "Found."
    figure("mine", tables=("surface",), order=2)(mine)  # a reload
    with pytest.raises(UsageError, match="exists already"):
        figure("mine", tables=(), order=1)(lambda run: mine(run))


def test_rows_of_a_table_fit_its_columns() -> None:
    with pytest.raises(ValueError, match="expected 2 cells"):
        Table(("a", "b"), (("1",),))
