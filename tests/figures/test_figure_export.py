"""Images without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.errors import UsageError
from headscope.figures import export_figure

MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<svg", ".pdf": b"%PDF-", ".SVG": b"<svg"}


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_suffix_says_the_format(make_run: Any, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"figure{suffix}"
    assert export_figure(make_run((("self", 2, 2),)), "surface", path) == path
    assert path.read_bytes().startswith(MAGIC[suffix])
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("shapes", [(("self", 6, 12),), (("self", 24, 16),)])
def test_every_layer_and_head_is_labelled(make_run: Any, tmp_path: Path, shapes: Any) -> None:
    path = export_figure(make_run(shapes), "surface", tmp_path / "a.svg")
    text = path.read_text(encoding="utf-8")
    ((_, n_layers, n_heads),) = shapes
    assert text.count(">1</text>") == 2 * 9  # the first layer and the first head of nine panels
    for number in (n_layers, n_heads):
        assert f">{number}</text>" in text


def test_three_stacks_are_three_blocks(make_run: Any, tmp_path: Path) -> None:
    run = make_run((("encoder", 2, 2), ("decoder", 2, 2), ("cross", 2, 2)))
    text = export_figure(run, "entropy", tmp_path / "a.svg").read_text(encoding="utf-8")
    for title in ("Encoder self-attention", "Decoder self-attention", "Cross-attention"):
        assert f">{title}</text>" in text


def test_the_same_run_gives_the_same_image(make_run: Any, tmp_path: Path) -> None:
    run = make_run((("self", 2, 2),))
    images = [export_figure(run, "entropy", tmp_path / f"{i}.svg").read_bytes() for i in range(2)]
    assert images[0] == images[1]


@pytest.mark.parametrize("name", ["figure.gif", "figure"])
def test_an_unknown_suffix_is_refused_before_any_work(make_run: Any, name: str) -> None:
    with pytest.raises(UsageError, match=r"expected one of \.png, \.svg, \.pdf"):
        export_figure(make_run((("self", 1, 1),)), "surface", name)


def test_an_unknown_figure_is_refused(make_run: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown figure 'entropi'"):
        export_figure(make_run((("self", 1, 1),)), "entropi", tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
