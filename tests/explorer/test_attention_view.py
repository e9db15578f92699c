"""`hs.view`: attention inside a notebook, without a server, also when reopened."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import UsageError
from headscope.explorer.pages import static_files
from headscope.explorer.saved_view import MAX_BYTES, MODULES, AttentionView, joined_modules
from headscope.models import LoadedModel
from tests.axe import violations
from tests.chromium import CHROMIUM, Browser
from tests.explorer.test_live import tapped

READY = "document.documentElement.dataset.ready == 'yes'"
HOSTILE = "the cat </script><script>document.title='hacked'</script> <!--"


@pytest.fixture(scope="module")
def view(small_masked: LoadedModel) -> AttentionView:
    return hs.view(small_masked, "the [MASK] sat", "she played", edits={"zero": "2-1"}, head="3-2")


def test_a_page_is_refused_that_would_burst_a_notebook(small_masked: LoadedModel) -> None:
    with pytest.raises(UsageError, match="tokens, or look at them with"):
        hs.view(small_masked, "the cat sat on the mat " * 150, edits={"zero": "1-1"})
    with pytest.raises(UsageError, match="no head 9-9"):
        hs.view(small_masked, "the cat", head="9-9")
    with pytest.raises(UsageError, match="unknown edit"):
        hs.view(small_masked, "the cat", edits={"explode": "1-1"})
    with pytest.raises(UsageError, match="no text"):
        hs.view(small_masked, " ")
    assert MAX_BYTES > 1e6


def test_modules_are_joined_without_a_rest_of_their_imports() -> None:
    assert not re.search(r"^\s*(import|export)\b", joined_modules(), re.MULTILINE)
    declared = re.compile(r"^(?:export )?(?:const|let|class) \[?(\w+)", re.MULTILINE)
    names = [n for m in MODULES for n in declared.findall(static_files()[f"{m}.js"].decode())]
    assert len(names) > 60
    assert len(set(names)) == len(names)  # joined, they share one scope


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_saved_notebook_shows_it_without_a_server(
    view: AttentionView, small_masked: LoadedModel, tmp_path: Path
) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{view._repr_html_()}", "utf-8")
    with Browser() as browser:
        browser.open(path)
        browser.enter_frame()
        browser.wait(READY)
        assert browser.text("#look-title") == "Head 3-2"
        assert "4 other heads" in browser.text("#downstream")
        browser.wait("document.querySelectorAll('.layer[data-drawn]').length == 3")
        browser.click('[data-id="2-1"]')
        browser.wait("document.querySelector('.lines').dataset.lines == '0'")
        browser.click('[data-set="when=before"]')
        browser.click('[data-set="level=tokens"]')
        weights = tapped(small_masked, "the [MASK] sat", "she played")[1, 0]
        expected = str(int((weights.astype("float16") >= 0.01).sum()))
        browser.wait(f"document.querySelector('.lines').dataset.lines == '{expected}'")
        browser.click('[data-set="show=map"]')
        browser.wait(
            f"document.querySelector('.map').dataset.cells == '{'x'.join([str(len(weights))] * 2)}'"
        )
        assert browser.console == []
        assert [u for u in browser.requests if not u.startswith(("file:", "about:"))] == []


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_kept_page_is_safe_and_accessible(small_masked: LoadedModel, tmp_path: Path) -> None:
    path = hs.view(small_masked, HOSTILE).save(tmp_path / "view.html")
    with Browser() as browser:
        browser.open(path, ready=READY)
        assert browser.run("document.title") != "hacked"
        assert browser.run("document.querySelectorAll('script').length") == 2
        assert "script" in browser.text(".from")
        assert violations(browser) == []
        assert browser.console == []
        browser.size(390, 844, dark=True)
        assert browser.run("document.documentElement.scrollWidth") == 390
