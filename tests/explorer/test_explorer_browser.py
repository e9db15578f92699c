"""The explorer in a real browser: every page, every kind of click, nothing off the machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, T5Config, T5Model

from headscope.explorer.live.passes import LiveModel
from headscope.explorer.live.reading import typed
from headscope.measures.patterns.labelled_maps import load_maps, save_maps
from headscope.measures.patterns.rulers import rulers
from headscope.models import LoadedModel, collate, load
from headscope.models.word_attention import word_attention, word_units
from tests.axe import violations
from tests.chromium import CHROMIUM, Browser
from tests.explorer.conftest import GENEROUS
from tests.explorer.served import Served, serving
from tests.explorer.test_labels_served import made_up
from tests.explorer.test_live import tapped
from tests.planted import VOCABULARY, planted_tokenizer

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

READY = "document.documentElement.dataset.ready == 'yes'"
DRAWN = "document.querySelector('.lines')?.dataset.complete == 'true'"
HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=document.title='hacked'>"
TRICKS = "the cat \u202e\u2066\u200b\u200d\ufeff sat"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        opened.size(1440, 900)
        yield opened


def heads_shown(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "[...document.querySelectorAll('.picture')].map(p => p.dataset.id)"
    )
    return found


def said(browser: Browser, served: Served) -> None:
    """The page is silent and has asked nobody but this server."""
    assert browser.console == []
    assert [u for u in browser.requests if not u.startswith((served.url, "data:", "blob:"))] == []


def live(browser: Browser, served: Served, text: str, pair: str = "", **state: str) -> None:
    told = {"text": text, **({"pair": pair} if pair else {}), **state}
    hash_ = "#/" + "&".join(f"{k}={quote(v)}" for k, v in told.items())
    browser.open(f"{served.url}/live", hash_, READY)
    browser.wait(
        DRAWN if state.get("show") != "map" else "document.querySelector('.map').dataset.cells"
    )


def test_the_list_of_runs(browser: Browser, served: Served) -> None:
    browser.open(served.url + "/", ready=READY)
    assert "3 runs" in browser.text("#status")
    assert "planted" in browser.text("#runs").lower() or "bert" in browser.text("#runs").lower()
    assert browser.run("document.getElementById('compare').disabled")
    boxes = browser.run("[...document.querySelectorAll('#runs input')].map(b => b.value)")
    for value in boxes[:2]:
        browser.click(f'#runs input[value="{value}"]')
    browser.click("#compare")
    browser.wait(
        "location.pathname.startsWith('/compare/') && document.documentElement.dataset.atlas"
    )
    assert browser.run("document.querySelectorAll('.cell').length") == 16
    said(browser, served)


def test_an_atlas_leads_to_sentences_and_to_live_attention(
    browser: Browser, served: Served
) -> None:
    browser.open(f"{served.url}/run/small", ready="document.documentElement.dataset.atlas == 'yes'")
    browser.click('[data-id="2-3"]')
    assert "Head 2-3" in browser.text("#passport")
    browser.run("document.getElementById('atlas-search').focus()")
    browser.press(*"3-1")
    assert browser.run("document.querySelectorAll('.cell:not(.out)').length") == 1
    browser.click('.chip[data-group="layer"][data-value="3"]')
    browser.click(".go-on a[href*='/live']")
    browser.wait(f"location.pathname == '/live' && {READY} && {DRAWN}")
    assert browser.text("#look-title") == "Head 2-3"
    said(browser, served)
    browser.open(f"{served.url}/run/small", "#/head=1-2", "document.documentElement.dataset.atlas")
    browser.click(".go-on a[href*='/sentences']")
    browser.wait(f"location.pathname.endsWith('/sentences') && {READY}")
    assert browser.run("document.getElementById('head').value") == "1-2"
    said(browser, served)


def test_sentences_can_be_chosen_and_seen_live(browser: Browser, served: Served) -> None:
    browser.open(f"{served.url}/run/first/sentences", "#/head=2-2", READY)
    browser.choose("#what", "role:prev_local")
    found = served.ask("/api/runs/first/sentences?head=2-2&what=role:prev_local").json["sentences"]
    # not those of the choice before, which stay until the new ones are here
    browser.wait(f"document.querySelectorAll('#sentences li').length == {len(found)}")
    shown = browser.run("[...document.querySelectorAll('.sentence')].map(p => p.innerText)")
    assert shown == [f"{s['text']} {s['pair']}" if s["pair"] else s["text"] for s in found]
    assert not browser.run("document.querySelector('#sentences a')")  # another model is loaded
    browser.open(f"{served.url}/run/first/sentences", "#/head=<img>&what=%00", READY)
    browser.type("#head", "9-9")
    browser.press("Enter")
    browser.wait("document.getElementById('status').textContent.includes('keeps no sentences')")
    said(browser, served)


def test_sql_shows_tables_and_refusals_as_text(browser: Browser, served: Served) -> None:
    browser.open(f"{served.url}/run/first/tables", ready=READY)
    assert browser.run("document.querySelectorAll('#answer tbody tr').length") == 10
    browser.click('[data-table="entropy"]')
    browser.wait("document.querySelector('#answer thead').innerText.includes('mean_nats')")
    browser.type("#sql", f"select '{HOSTILE.replace(chr(39), chr(39) * 2)}' as \"<b>x</b>\"")
    browser.press("Control+Enter")
    browser.wait("document.querySelectorAll('#answer tbody tr').length == 1")
    assert HOSTILE in browser.text("#answer tbody")
    assert browser.run("document.querySelectorAll('#answer b, #answer img').length") == 0
    browser.type("#sql", "drop table surface")
    browser.click("#ask .main")
    browser.wait(
        "document.querySelector('#status.wrong')?.textContent.includes('can only be read')"
    )
    assert browser.run("document.title") != "hacked"
    # the browser itself reports the refusal's status; the page says nothing
    assert all("422" in line for line in browser.console)
    browser.open(f"{served.url}/run/first/tables", "#/sql=select 99 as n", READY)
    assert browser.run("document.getElementById('sql').value") == "select 99 as n"
    assert browser.run("document.querySelectorAll('#answer td').length") == 0  # not until asked


def test_lines_are_drawn_and_a_word_says_where_it_looks(
    browser: Browser, served: Served, small_masked: LoadedModel
) -> None:
    text = "she played on the mat"
    live(browser, served, text, head="2-3", level="tokens")
    n = len(tapped(small_masked, text)[0, 0])
    assert browser.run("document.querySelectorAll('.from li').length") == n
    weights = tapped(small_masked, text)[1, 2]
    assert int(browser.run("document.querySelector('.lines').dataset.lines")) == int(
        (weights.astype(np.float16) >= 0.01).sum()
    )
    painted = browser.run(
        "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(x => x))"
        "(document.querySelector('.between canvas'))"
    )
    assert painted
    browser.run("document.querySelector('.from').focus()")
    browser.press("ArrowDown", "ArrowDown", "ArrowDown")  # from nothing to the third
    browser.wait("document.getElementById('readout').innerText.includes('play')")
    best = int(weights[2].argmax())
    tokens = ["[CLS]", "she", "play", "ed", "on", "the", "mat", "[SEP]"]
    told = browser.text("#readout")
    assert told.startswith(f"“play” looks at “{tokens[best]}”")
    share = float(weights[2, best])
    assert f"{share * 100:.{1 if share < 0.0995 else 0}f} %" in told
    browser.press("Escape")
    browser.wait("document.getElementById('readout').innerText.startsWith('Choose')")
    said(browser, served)


def test_words_are_merged_as_the_measures_merge_them(
    browser: Browser, served: Served, small_masked: LoadedModel
) -> None:
    text = "she played on mats"
    live(browser, served, text, head="1-2", level="words", show="map")
    batch = collate([typed(small_masked, text)], pad_id=small_masked.pad_id)
    units = word_units(batch.source)
    maps = torch.from_numpy(tapped(small_masked, text)[0, 1])[None, None]
    expected = word_attention(maps, units.row_weights(), units.members)[0, 0].numpy()
    n = len(expected)
    assert n < maps.shape[-1]
    assert browser.run("document.querySelector('.map').dataset.cells") == f"{n}x{n}"
    browser.run("document.querySelector('.map').focus()")
    browser.press("ArrowDown")
    for r in range(n):
        told = browser.text("#readout")
        share = float(expected[r, 0])
        assert f"with {share * 100:.{1 if share < 0.0995 else 0}f} %" in told
        browser.press("ArrowDown")
    browser.click("#special")
    browser.wait(f"document.querySelector('.map').dataset.cells == '{n - 2}x{n - 2}'")
    browser.click('[data-set="level=tokens"]')
    said(browser, served)


def test_pictures_of_all_heads_and_of_one_layer(browser: Browser, served: Served) -> None:
    live(browser, served, "the cat sat")
    assert len(heads_shown(browser)) == 12
    browser.wait("document.querySelectorAll('.layer[data-drawn]').length == 3")
    browser.click('[data-id="3-4"]')
    assert browser.text("#look-title") == "Head 3-4"
    browser.press("ArrowLeft", "ArrowUp")
    assert browser.text("#look-title") == "Head 2-3"
    assert browser.run("document.activeElement.dataset.id") == "2-3"
    browser.choose("#layer", "1")
    assert heads_shown(browser) == ["1-1", "1-2", "1-3", "1-4"]
    assert "layer=1" in browser.run("location.hash")
    browser.wait("document.querySelectorAll('.layer[data-drawn]').length == 1")
    said(browser, served)


def test_an_edit_is_switched_on_and_off_and_says_what_changed(
    browser: Browser, served: Served, small_masked: LoadedModel
) -> None:
    text = "the [MASK] sat"
    live(browser, served, text, head="2-1")
    assert "The blank after “the”" in browser.text("#prediction")
    before = browser.text("#prediction")
    browser.click("#edit-add")
    browser.wait("document.getElementById('downstream').innerText.includes('other heads')")
    assert "4 other heads" in browser.text("#downstream")  # all of layer 3, none before
    assert browser.text("#prediction") != before
    keys = served.post("/api/live/read", {"text": text}).json["key"]
    edits = [{"edit": "zero", "heads": ["2-1"]}]
    after = served.post("/api/live/read", {"text": text, "edits": edits}).json
    moved = served.ask(f"/api/live/passes/{after['key']}/changes?from={keys}").json
    top = max(range(4), key=lambda h: moved["heads"]["self"][2][h])
    assert browser.text("#downstream .go") == f"3-{top + 1}"
    best = after["prediction"]["places"][0]["best"][0]
    assert best[0] in browser.text("#prediction")
    assert int(browser.run("document.querySelector('.lines').dataset.lines")) == 0
    browser.click('[data-set="when=before"]')
    browser.wait("Number(document.querySelector('.lines').dataset.lines) > 0")
    address = browser.run("location.hash")
    browser.click("[data-turn]")
    browser.wait("document.getElementById('when').hidden")
    assert browser.text("#downstream") == ""
    browser.click("[data-drop]")
    browser.wait("!document.querySelector('#edits li')")
    browser.open(f"{served.url}/live", address, READY)  # the state can be shared
    browser.wait("document.getElementById('downstream').innerText.includes('other heads')")
    assert browser.text("#edits").strip().startswith("2-1")
    said(browser, served)


@pytest.mark.parametrize("text", [HOSTILE, TRICKS, "a" * 3000, "好的。\n\n\t\x07 cat", "🏳️‍🌈 cat"])
def test_whatever_is_typed_stays_text(browser: Browser, served: Served, text: str) -> None:
    browser.open(f"{served.url}/live", ready=READY)
    browser.type("#text", text)
    browser.type("#pair", text[:500])
    browser.click("#read .main")
    browser.wait("Number(document.documentElement.dataset.read) == 2")
    assert browser.run("document.title") != "hacked"
    assert browser.run("document.querySelectorAll('main script, main img').length") == 0
    shown = browser.run("document.querySelector('.from').innerText")
    assert not set(shown) & set("\u202e\u2066\u200b\ufeff\x07")
    said(browser, served)


def test_512_tokens_stay_responsive_and_only_what_is_seen_is_sent(
    browser: Browser, served: Served
) -> None:
    words = [w for w in VOCABULARY[8:36] if w.isalpha()]
    text = " ".join(words[i % len(words)] for i in range(700))
    live(browser, served, text, head="2-2", level="tokens")
    assert browser.run("document.querySelectorAll('.from li').length") == 512
    assert "were cut" in browser.text("#status")
    sent = browser.run(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/map'))"
        ".reduce((n, e) => n + e.encodedBodySize, 0)"
    )
    assert 0 < sent <= 2 * 512 * 128  # two blocks of rows, not 512
    started = time.monotonic()
    browser.run("document.querySelector('.lines').scrollTop = 300 * 24")
    browser.wait("Number(document.querySelector('.lines').dataset.lines) >= 0 && " + DRAWN)
    assert time.monotonic() - started < 5
    frame = browser.run(
        "new Promise(done => { const box = document.querySelector('.lines'); const times = [];"
        "let last = performance.now(); const step = (now) => { times.push(now - last); last = now;"
        "box.scrollTop += 40; if (times.length < 30) requestAnimationFrame(step);"
        "else done(times.sort((a, b) => a - b)[15]); }; requestAnimationFrame(step); })"
    )
    assert frame < 100  # milliseconds per picture while scrolling, on a busy machine
    browser.click('[data-set="show=map"]')
    browser.wait("document.querySelector('.map').dataset.cells == '512x512'")
    assert browser.run("document.documentElement.scrollWidth") == 1440
    said(browser, served)


def test_a_model_of_24_layers_and_16_heads(
    browser: Browser, runs_folder: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=128, num_hidden_layers=24, num_attention_heads=16,
        intermediate_size=64, max_position_embeddings=512,
    )  # fmt: skip
    tokenizer = planted_tokenizer()
    tokenizer.model_max_length = 512
    model = LiveModel(load(BertModel(config).eval(), tokenizer), GENEROUS)
    with serving(tmp_path, live=model, limits=GENEROUS) as served:
        live(browser, served, "the cat sat on the mat and saw the dog", head="24-16")
        assert len(heads_shown(browser)) == 384
        browser.page.wait_for_timeout(300)
        pictures = [u for u in browser.requests if "/pictures" in u]
        assert 0 < len(pictures) < 24  # only the layers in view
        browser.run("document.querySelector('#pictures').scrollTop = 1e6")
        browser.wait("document.querySelector('.layer[data-layer=\"24\"]').dataset.drawn")
        assert browser.run("document.documentElement.scrollWidth") == 1440
        browser.size(390, 844)
        try:
            live(browser, served, "the cat sat", head="24-16")
            assert browser.run("document.documentElement.scrollWidth") == 390
        finally:
            browser.size(1440, 900)
        said(browser, served)


def test_an_encoder_and_decoder_with_cross_attention(browser: Browser, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(VOCABULARY), d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    model = LiveModel(load(T5Model(config).eval(), planted_tokenizer()), GENEROUS)
    with serving(tmp_path, live=model, limits=GENEROUS) as served:
        live(browser, served, "the cat sat", "the dog ran on", head="cross:2-3", level="tokens")
        shape = browser.run("['from', 'to'].map(c => document.querySelectorAll(`.${c} li`).length)")
        told = served.post("/api/live/read", {"text": "the cat sat", "pair": "the dog ran on"}).json
        assert shape == [len(told["target"]["tokens"]), len(told["source"]["tokens"])]
        assert shape[0] != shape[1]
        browser.choose("#stack", "encoder")
        browser.wait("document.getElementById('look-title').innerText == 'Head encoder:1-1'")
        said(browser, served)


def test_a_map_not_yet_shown_gets_no_label(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    save_maps(path, made_up(3))
    with serving(tmp_path, limits=GENEROUS) as served:
        browser.open(f"{served.url}/label", ready=READY)
        browser.wait("document.documentElement.dataset.shown == '0'")
        key = "new KeyboardEvent('keydown', {key: '%s', bubbles: true})"
        press = f"document.body.dispatchEvent({key})"
        browser.run(";".join(press % letter for letter in "bdv"))  # before the next map can come
        browser.wait("document.documentElement.dataset.shown == '1'")
        browser.wait("document.documentElement.dataset.saved == '1'")
        assert [one.label for one in load_maps(path).labels] == ["block", None, None]
        said(browser, served)


def test_labelling_by_keys(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    save_maps(path, made_up(4))
    with serving(tmp_path, limits=GENEROUS) as served:
        browser.open(f"{served.url}/label", ready=READY)

        def press(key: str, seen: int) -> None:
            browser.wait(f"document.documentElement.dataset.shown == '{seen}'")
            browser.press(key)

        browser.wait("document.documentElement.dataset.shown == '0'")
        assert browser.text("#rulers").lower() == f"{rulers(load_maps(path).maps[0])}."
        press("b", seen=0)
        press("d", seen=1)
        browser.wait("document.documentElement.dataset.saved == '2'")
        assert [one.label for one in load_maps(path).labels] == ["block", "diagonal", None, None]
        assert browser.text("#count") == "2 of 4"
        browser.press("u")
        browser.wait("document.documentElement.dataset.saved == '3'")
        assert [one.label for one in load_maps(path).labels] == ["block", None, None, None]
        for key, index in [("s", 1), ("v", 2), ("h", 3), ("m", 1)]:  # map 2 comes back last
            press(key, seen=index)
        browser.wait("document.documentElement.dataset.saved == '6'")
        labels = [one.label for one in load_maps(path).labels]
        assert labels == ["block", "vertical_diagonal", "vertical", "heterogeneous"]
        assert "All maps have a label" in browser.text("#which")
        browser.choose("#look", "second")
        browser.wait("document.getElementById('status').innerText.includes('blind')")
        for _ in range(4):
            browser.wait("document.documentElement.dataset.shown !== undefined")
            index = int(browser.run("document.documentElement.dataset.shown"))
            browser.click(f'[data-label="{labels[index]}"]')
        browser.wait("document.getElementById('agreement').innerText.includes('4 maps')")
        assert "κ 1.00" in browser.text("#agreement")
        assert [one.second for one in load_maps(path).labels] == labels
        said(browser, served)


PAGES = [
    ("/", ""), ("/live", "#/head=2-3"), ("/live", "#/show=map&edits=zero~1-1~1"), ("/label", ""),
    ("/run/first/tables", ""), ("/run/first/sentences", "#/head=2-2"),
]  # fmt: skip


def test_the_judge_of_accessibility_does_judge(browser: Browser, served: Served) -> None:
    browser.open(served.url + "/", ready=READY)
    browser.run(
        "document.querySelector('main').append(document.createElement('img'), "
        "document.createElement('button'))"
    )
    found = violations(browser)
    assert {one.split(":")[0] for one in found} >= {"image-alt", "button-name"}


@pytest.mark.parametrize(("path", "hash_"), PAGES)
def test_pages_are_accessible_in_light_and_dark(
    browser: Browser, served: Served, path: str, hash_: str
) -> None:
    try:
        for dark in (False, True):
            browser.size(1440, 900, dark=dark)
            browser.open(served.url + path, hash_, READY)
            if "edits" in hash_:
                browser.wait("document.getElementById('downstream').innerText")
            assert violations(browser) == []
    finally:
        browser.size(1440, 900)


def test_the_labelling_desk_and_the_atlas_are_accessible(
    browser: Browser, served: Served, tmp_path: Path
) -> None:
    maps = made_up(3).labelled(0, "block").labelled(0, "block", "second")
    save_maps(tmp_path / "mine.json", maps)
    with serving(tmp_path, limits=GENEROUS) as own:
        browser.open(f"{own.url}/label", ready=READY)
        assert violations(browser) == []
    atlas = "document.documentElement.dataset.atlas == 'yes'"
    try:
        for dark in (False, True):
            browser.size(1440, 900, dark=dark)
            browser.open(f"{served.url}/run/first", "#/head=2-2", atlas)
            assert violations(browser) == []
    finally:
        browser.size(1440, 900)


@pytest.mark.parametrize(("path", "hash_"), PAGES)
def test_narrow_screens_scroll_in_one_direction_only(
    browser: Browser, served: Served, path: str, hash_: str
) -> None:
    browser.size(390, 844)
    try:
        browser.open(served.url + path, hash_, READY)
        assert browser.run("document.documentElement.scrollWidth") == 390
        said(browser, served)
    finally:
        browser.size(1440, 900)


def test_dark_is_remembered_from_page_to_page(browser: Browser, served: Served) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open(served.url + "/", ready=READY)
    assert browser.run(paper) == "rgb(246, 246, 243)"
    browser.click("#mode")
    assert browser.run(paper) == "rgb(15, 17, 21)"
    browser.open(served.url + "/live", ready=READY)
    assert browser.run(paper) == "rgb(15, 17, 21)"
    browser.click("#mode")
    assert browser.run(paper) == "rgb(246, 246, 243)"


def test_a_reading_the_server_lost_is_read_again(
    browser: Browser, runs_folder: Path, small_masked: LoadedModel
) -> None:
    live_ = LiveModel(small_masked, GENEROUS)
    with serving(runs_folder, live=live_, limits=GENEROUS) as served:
        live(browser, served, "the cat sat on the mat", head="1-1")
        live_._kept.clear()
        browser.click('[data-id="3-3"]')
        browser.wait("document.getElementById('look-title').innerText == 'Head 3-3' && " + DRAWN)
        lines = int(browser.run("document.querySelector('.lines').dataset.lines"))
        assert lines > 0
    browser.click('[data-id="2-2"]')  # now nobody answers
    browser.wait("document.querySelector('#status.wrong')?.innerText.includes('does not answer')")


@pytest.mark.parametrize(
    "hash_",
    ["#/head=99-99&show=<b>&level=x&layer=-5&edits=zero~9-9~1,~,x&when=q", "#/%E0%A4%A&%%=",
     "#/" + "a" * 100_000, "#/head=__proto__&layer=constructor"],
)  # fmt: skip
def test_nonsense_in_the_address_is_ignored(browser: Browser, served: Served, hash_: str) -> None:
    browser.open(f"{served.url}/live", hash_, READY)
    browser.wait(DRAWN)
    assert browser.text("#look-title") == "Head 1-1"
    said(browser, served)


def test_no_script_of_the_page_may_use_eval(browser: Browser, served: Served) -> None:
    browser.open(served.url + "/", ready=READY)
    tried: Any = browser.run(
        "(() => { const s = document.createElement('script'); s.textContent = "
        "'document.title = \"hacked\"'; document.body.append(s); return document.title; })()"
    )
    assert tried != "hacked"
    assert any("Content Security Policy" in line for line in browser.console)
    reached = browser.run("fetch('http://127.0.0.1:9/').then(() => 'reached', () => 'refused')")
    assert reached == "refused"
    assert json.dumps(browser.console).count("Content Security Policy") >= 2
