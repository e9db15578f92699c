"""The script of all charts is made once and kept, and a damaged copy is never used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from headscope.figures import vega_bundle as room


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "cache" / "vega.js"
    monkeypatch.setattr(room, "_place", lambda: path)
    room.vega_bundle.cache_clear()
    yield path
    room.vega_bundle.cache_clear()


def test_it_is_made_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = room.vega_bundle()
    assert "vegaEmbed" in made
    room.vega_bundle.cache_clear()
    monkeypatch.setattr(vl_convert, "javascript_bundle", None)  # asking again would fail
    assert room.vega_bundle() == made
    assert [p.name for p in place.parent.iterdir()] == [place.name]


def test_a_damaged_copy_is_made_again(place: Path) -> None:
    made = room.vega_bundle()
    place.write_text(place.read_text(encoding="utf-8")[:-1] + "!", encoding="utf-8")
    room.vega_bundle.cache_clear()
    assert room.vega_bundle() == made
    assert place.read_text(encoding="utf-8").endswith(made)


def test_a_folder_that_cannot_be_written_does_not_matter(place: Path) -> None:
    place.parent.write_text("a file where the folder should be", encoding="utf-8")
    assert "vegaEmbed" in room.vega_bundle()
