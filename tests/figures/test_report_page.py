"""The report is one file that loads nothing, runs only its own scripts and escapes every name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from headscope.figures import draw, render_report

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&\u2028${{7*7}}"


class Page(HTMLParser):
    """Elements, and the text of every script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._inside: dict[str, str | None] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._inside = dict(attrs)
            self.scripts.append((self._inside, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.text += data
        else:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)

    def json(self, name: str) -> Any:
        return next(json.loads(text) for attrs, text in self.scripts if attrs.get("id") == name)


@pytest.fixture(scope="module")
def page(make_run: Any) -> Page:
    run = make_run(
        (("self", 2, 3),),
        model=HOSTILE,
        corpus=HOSTILE,
        skipped=[{"name": HOSTILE, "reason": HOSTILE}],
        notes=[HOSTILE],
    )
    return Page(render_report(run))


def test_hostile_names_stay_text(page: Page) -> None:
    assert "alert('x')</script>" in page.text  # shown as it is
    assert not any(tag == "img" for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    running = [text for attrs, text in page.scripts if attrs.get("type") != "application/json"]
    assert len(running) == 3
    assert not any("alert('x')" in text for text in running)


def test_hostile_words_in_a_table_stay_inside_the_json(make_run: Any) -> None:
    names = ("layer", "head", "target", "mean", "ci_low", "ci_high", "n")
    row = (0, 0, HOSTILE, 0.5, 0.4, 0.6, 3)
    run = make_run(
        (("self", 1, 1),), tables={"surface": {k: [v] for k, v in zip(names, row, strict=True)}}
    )
    page = Page(render_report(run))
    columns = page.json("datasets")[page.json("spec-surface")["datasets"]["heads"]]
    assert columns["what"] == [HOSTILE]
    assert not any(tag == "img" for tag, _ in page.tags)


def test_nothing_is_loaded(page: Page) -> None:
    for tag, attrs in page.tags:
        assert "src" not in attrs, tag
        address = attrs.get("href") or "#"
        assert address.startswith(("#", "data:")), address
    own = "".join(text for attrs, text in page.scripts[:-2]) + page.scripts[-1][1]
    assert not re.search(r"https?://", own)
    assert "$schema" not in own
    assert "@import" not in page.text
    assert "url(" not in page.text


def test_the_policy_allows_exactly_the_three_scripts(page: Page) -> None:
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    running = [text for attrs, text in page.scripts if attrs.get("type") != "application/json"]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in running]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "vegaEmbed" in running[1]


def test_the_page_carries_the_charts_data_once(make_run: Any) -> None:
    run = make_run((("self", 3, 4),))
    page = Page(render_report(run))
    first, second = (page.json(f"spec-{name}") for name in ("surface", "surface_by_layer"))
    assert first["datasets"]["heads"] == second["datasets"]["heads"]
    columns = page.json("datasets")[first["datasets"]["heads"]]
    records = draw(run, "surface").spec()["datasets"]["heads"]
    rows = zip(*columns.values(), strict=True)
    assert [dict(zip(columns, row, strict=True)) for row in rows] == records


def test_the_page_tells_what_was_run_found_and_left_out(make_run: Any) -> None:
    run = make_run()
    page = Page(render_report(run))
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "all-MiniLM-L6-v2 (bert, 6 layers × 12 heads) read 500 sequences (11,873 tokens) of "
        "shipped English corpus."
    ) in text
    for name in ("surface", "surface_by_layer", "entropy"):
        picture = draw(run, name)
        for words in (picture.title, picture.sentence, picture.note):
            assert words in text
        labels = [attrs.get("aria-label") for _, attrs in page.tags if "data-figure" in attrs]
        assert picture.alt in labels
    for words in (
        "no mentions in the corpus",
        "were cut at the end",
        "sha256:5f3c",
        "41.3 s",
        "4,096",
    ):
        assert words in text


def test_anchors_lead_somewhere_and_charts_can_be_reached_by_keyboard(page: Page) -> None:
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [a["href"] for t, a in page.tags if t == "a"]
    assert {link[1:] for link in links if link} <= set(ids)
    charts = [attrs for _, attrs in page.tags if "data-figure" in attrs]
    assert len(charts) == 3
    assert all(attrs.get("tabindex") == "0" for attrs in charts)


def test_a_run_without_figures_still_has_a_report(make_run: Any) -> None:
    tables = {"head_map": {"layer": [0], "head": [0], "x": [0.0], "y": [1.0]}}
    page = Page(render_report(make_run((("self", 1, 1),), tables=tables)))
    assert "This run has no table that a figure could be drawn from." in page.text


def test_big_models_stay_light(make_run: Any) -> None:
    html = render_report(make_run((("self", 48, 25),)))
    assert len(html.encode()) < 5_000_000
    assert 'data-renderer="canvas"' in html
