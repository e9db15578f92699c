"""The atlas in a real browser: clicks, keys, filters, addresses, dark and narrow pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.figures import render_atlas
from tests.axe import violations
from tests.chromium import CHROMIUM, Browser
from tests.figures.atlas_tables import every_table
from tests.figures.conftest import plausible_tables

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

HOSTILE = "</script><img src=x onerror=document.title='hacked'>\u202eevil"
READY = "document.documentElement.dataset.atlas == 'yes'"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        opened.size(1440, 900)
        yield opened


@pytest.fixture(scope="module")
def run(make_run: Any) -> Any:
    return make_run((("self", 3, 4),), tables=every_table(3, 4, words=HOSTILE))


@pytest.fixture(scope="module")
def page(run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("atlas") / "atlas.html"
    path.write_text(render_atlas(run), encoding="utf-8")
    return path


def inside(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "[...document.querySelectorAll('.cell:not(.out)')].map(cell => cell.dataset.id)"
    )
    return found


def focused(browser: Browser) -> str:
    found: str = browser.run("document.activeElement.dataset.id || document.activeElement.id")
    return found


def test_the_report_loads_from_disk_without_a_word_or_a_request(
    browser: Browser, measured: hs.Run
) -> None:
    path = measured.path / "report.html"
    browser.open(path, ready="document.documentElement.dataset.ready == 'yes'")
    assert browser.requests == [path.as_uri()]
    # Vega tells authors of charts about their choices; nothing else may be said
    assert [said for said in browser.console if "WARN" not in said] == []
    assert browser.run("document.querySelectorAll('.chart svg, .chart canvas').length") > 5
    assert browser.run("document.documentElement.scrollWidth") == 1440
    assert browser.run("document.querySelectorAll('.cell').length") == 144
    browser.click('[data-id="12-12"]')
    assert "Head 12-12" in browser.text("#passport")


def test_click_opens_a_passport_beside_the_grid_and_the_address_says_so(
    browser: Browser, page: Path
) -> None:
    browser.open(page, ready=READY)
    assert browser.run("document.querySelectorAll('.cell').length") == 12
    browser.click('[data-id="2-3"]')
    text = browser.text("#passport")
    for words in ("Head 2-3", "Roles", "Where it looks", "p ", "Nearest heads", "Without it"):
        assert words in text
    assert browser.run("location.hash") == "#/head=2-3"
    grid, panel = (
        browser.run(f"document.querySelector('{one}').getBoundingClientRect().{side}")
        for one, side in (("#atlas-grids", "right"), ("#passport", "left"))
    )
    assert grid <= panel
    near = browser.run("document.querySelector('[data-go]').dataset.go")
    browser.click("[data-go]")
    assert f"Head {near}" in browser.text("#passport")
    browser.click("#passport-close")
    assert browser.run("document.getElementById('passport').hidden")
    assert browser.run("location.hash") == ""
    assert browser.console == []
    assert browser.run("document.title") != "hacked"


def test_the_keyboard_does_everything(browser: Browser, page: Path) -> None:
    browser.open(page, ready=READY)
    assert browser.run("document.querySelectorAll('.cell[tabindex=\"0\"]').length") == 1
    browser.run("document.querySelector('.cell[tabindex=\"0\"]').focus()")
    browser.press("ArrowRight", "ArrowDown", "ArrowDown")
    assert focused(browser) == "3-2"
    browser.press("ArrowDown", "ArrowDown")  # the edge holds
    assert focused(browser) == "3-2"
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Enter")
    assert "Head 3-2" in browser.text("#passport")
    browser.press("ArrowLeft")  # the passport follows
    assert "Head 3-1" in browser.text("#passport")
    browser.press("Tab")
    assert focused(browser) == "passport-close"
    browser.press("Escape")
    assert browser.run("document.getElementById('passport').hidden")
    assert focused(browser) == "3-1"


def test_search_filter_and_sort_choose_what_the_tables_say(
    browser: Browser, page: Path, run: Any
) -> None:
    browser.open(page, ready=READY)
    browser.run("document.getElementById('atlas-search').focus()")
    browser.press(*"2-4")
    assert inside(browser) == ["2-4"]
    assert "1 of 12 heads" in browser.text("#atlas-found")
    browser.click("#atlas-reset")
    assert len(inside(browser)) == 12

    roles = run.table("roles").to_pylist()
    has = {
        f"{r['layer'] + 1}-{r['head'] + 1}" for r in roles if r["role"] == "obj" and r["assigned"]
    }
    browser.click('[data-group="role"][data-value="obj"]')
    assert set(inside(browser)) == has
    browser.click('[data-group="layer"][data-value="2"]')
    assert set(inside(browser)) == {head for head in has if head.startswith("2-")}
    assert browser.run("new URLSearchParams(location.hash.slice(2)).get('role')") == "obj"

    surface = run.table("surface").to_pylist()
    mean = {f"{r['layer'] + 1}-{r['head'] + 1}": r["mean"] for r in surface if r["target"] == "sep"}
    browser.open(page, "#/sort=surface.[SEP]", READY)
    assert inside(browser) == sorted(mean, key=lambda head: -mean[head])
    browser.click("#atlas-turn")
    assert inside(browser) == sorted(mean, key=lambda head: mean[head])
    clusters = run.table("clusters").to_pylist()
    browser.open(page, "#/cluster=2", READY)
    expected = {f"{r['layer'] + 1}-{r['head'] + 1}" for r in clusters if r["cluster"] == 1}
    assert set(inside(browser)) == expected


def test_search_knows_relations_and_roles(browser: Browser, page: Path, run: Any) -> None:
    browser.open(page, "#/q=OBJ", READY)
    roles, parser = run.table("roles").to_pylist(), run.table("parser").to_pylist()
    found = set(inside(browser))
    assert {
        f"{r['layer'] + 1}-{r['head'] + 1}" for r in roles if r["role"] == "obj" and r["assigned"]
    } <= found
    weak = {
        f"{r['layer'] + 1}-{r['head'] + 1}"
        for r in parser
        if r["relation"] == "obj" and r["ci_low"] <= 0.4
    } & {
        f"{r['layer'] + 1}-{r['head'] + 1}"
        for r in roles
        if r["role"] == "obj" and not r["assigned"]
    }
    assert weak
    assert not weak & found


@pytest.mark.parametrize(
    "hash_",
    [
        "#/head=99-99&layer=x,,9&role=<img>&cluster=-1&sort=__proto__&tint=constructor&view=d7",
        "#/%E0%A4%A&%%%=&head=%00",
        "#/" + "a" * 100_000,
        "#/head=3-1&head=2-2&low=yes&mode=blue",
        "#nowhere",
    ],
)
def test_nonsense_in_the_address_is_ignored(browser: Browser, page: Path, hash_: str) -> None:
    browser.open(page, hash_, READY)
    assert len(inside(browser)) == 12
    assert browser.console == []
    browser.click('[data-id="1-2"]')
    assert "Head 1-2" in browser.text("#passport")


def test_dark_and_light_follow_the_owner_and_the_address(browser: Browser, page: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    try:
        browser.size(1440, 900, dark=True)
        browser.open(page, ready=READY)
        assert browser.run(paper) == "rgb(15, 17, 21)"
        browser.open(page, "#/head=1-1&mode=light", READY)
        assert browser.run(paper) == "rgb(246, 246, 243)"
    finally:
        browser.size(1440, 900)


def test_narrow_screens_scroll_in_one_direction_only(browser: Browser, page: Path) -> None:
    try:
        browser.size(390, 844)
        browser.open(page, ready=READY)
        assert browser.run("document.documentElement.scrollWidth") == 390
        browser.click('[data-id="2-2"]')
        box = browser.run("(b => [b.left, b.right, b.bottom])(passport.getBoundingClientRect())")
        assert box == [0, 390, 844]
        assert focused(browser) == "passport-title"
        browser.press("Escape")
        assert focused(browser) == "2-2"
    finally:
        browser.size(1440, 900)


def test_everything_has_a_name_for_those_who_do_not_see_it(browser: Browser, page: Path) -> None:
    browser.open(page, "#/head=1-1", READY)
    nameless = browser.run(
        "[...document.querySelectorAll('button, input, select, [role=img], [role=grid]')]"
        ".filter(e => !(e.ariaLabel || e.innerText.trim() || (e.labels && e.labels.length)))"
        ".map(e => e.outerHTML.slice(0, 90))"
    )
    assert nameless == []
    label = browser.run("document.querySelector('[data-id=\"1-1\"]').ariaLabel")
    assert label.startswith("Head 1-1: ")
    assert "cluster 1" in label
    assert browser.run("document.querySelector('[data-id=\"1-1\"]').ariaSelected") == "true"


@pytest.mark.parametrize("dark", [False, True])
def test_the_atlas_is_accessible(browser: Browser, page: Path, dark: bool) -> None:
    try:
        browser.size(1440, 900, dark=dark)
        browser.open(page, "#/head=1-1", READY)
        assert violations(browser) == []
    finally:
        browser.size(1440, 900)


def test_the_report_is_accessible(browser: Browser, measured: hs.Run) -> None:
    ready = "document.documentElement.dataset.ready == 'yes'"
    browser.open(measured.path / "report.html", "#/head=3-9", ready)
    assert violations(browser) == []


def test_it_prints(browser: Browser, page: Path) -> None:
    browser.open(page, "#/head=1-1", READY)
    assert browser.pdf().startswith(b"%PDF")


def test_two_runs_show_differences_on_one_scale(
    browser: Browser, run: Any, make_run: Any, tmp_path: Path
) -> None:
    tables = every_table(3, 4, seed=5)
    del tables["clusters"]
    other = make_run((("self", 3, 4),), tables=tables, model="fine-tuned")
    path = tmp_path / "two.html"
    path.write_text(render_atlas([run, other]), encoding="utf-8")
    browser.open(path, "#/tint=surface.[SEP]&head=2-2", READY)
    assert browser.console == []
    sep = [
        {
            (r["layer"], r["head"]): r["mean"]
            for r in one.table("surface").to_pylist()
            if r["target"] == "sep"
        }
        for one in (run, other)
    ]
    change = {place: sep[1][place] - sep[0][place] for place in sep[0]}
    most = max(abs(x) for x in change.values())
    for (layer, head), x in change.items():
        cell = f"document.querySelector('[data-id=\"{layer + 1}-{head + 1}\"]')"
        assert float(browser.run(f"{cell}.style.getPropertyValue('--t')")) == pytest.approx(
            abs(x) / most, abs=2e-3
        )
        assert browser.run(f"{cell}.classList.contains('up')") == (x > 0)
    assert f"{change[1, 1] * 100:+.1f} points".replace("-", "−") in browser.text("#passport")
    browser.open(path, "#/view=1", READY)
    assert len(inside(browser)) == 12
    assert browser.console == []


def test_a_saved_notebook_shows_the_atlas_without_a_server(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    shown = hs.open_run(run.path).atlas()._repr_html_()
    path.write_text(f"<!doctype html><title>notebook</title>{shown}", encoding="utf-8")
    with Browser() as browser:  # a frame of its own needs a browser of its own
        browser.open(path)
        browser.enter_frame()
        browser.wait(READY)
        browser.run("document.querySelector('[data-id=\"2-3\"]').click()")
        assert "Head 2-3" in browser.text("#passport")
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith(("file:", "about:"))] == []


def test_an_atlas_of_24_layers_and_16_heads(
    browser: Browser, make_run: Any, tmp_path: Path
) -> None:
    path = tmp_path / "large.html"
    path.write_text(render_atlas(make_run((("self", 24, 16),))), encoding="utf-8")
    try:
        for width, height in ((1440, 900), (390, 844)):
            browser.size(width, height)
            browser.open(path, ready=READY)
            assert browser.run("document.querySelectorAll('.cell').length") == 384
            assert browser.run("document.documentElement.scrollWidth") == width
            browser.click('[data-id="24-16"]')
            assert "Head 24-16" in browser.text("#passport")
            assert browser.console == []
    finally:
        browser.size(1440, 900)


def test_every_kind_of_run_can_be_looked_at(
    browser: Browser, make_run: Any, tmp_path: Path
) -> None:
    stacks = (("encoder", 2, 3), ("decoder", 2, 3), ("cross", 2, 3))
    kinds = {
        "stacks": make_run(stacks, tables=plausible_tables(stacks)),
        "surface": make_run((("self", 2, 3),)),
        "empty": make_run((("self", 1, 1),), tables={"head_map": _map()}),
    }
    for name, one in kinds.items():
        path = tmp_path / f"{name}.html"
        path.write_text(render_atlas(one), encoding="utf-8")
        browser.open(path, ready=READY)
        assert browser.console == []
        n = browser.run("document.querySelectorAll('.cell').length")
        assert n == {"stacks": 18, "surface": 6, "empty": 1}[name]
        browser.click(".cell")
        assert "Head" in browser.text("#passport")


def _map() -> dict[str, list[Any]]:
    return {"layer": [0], "head": [0], "x": [0.0], "y": [1.0]}
