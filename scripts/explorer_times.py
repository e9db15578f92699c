"""How long from request to drawn lines, and how many bytes a view takes: a Markdown table.

python -m scripts.explorer_times [MODEL] [TOKENS…]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from headscope.corpora import shipped_corpus
from headscope.explorer.limits import Limits
from headscope.explorer.live.loading import load_with_head
from headscope.explorer.live.passes import LiveModel
from tests.chromium import Browser
from tests.explorer.served import serving

READY = "document.documentElement.dataset.ready == 'yes'"
LINES = "document.querySelector('.lines')?.dataset.complete == 'true'"
N = 9


def text_of(live: LiveModel, n_tokens: int, skip: int) -> str:
    """Words of the shipped passages that make just as many tokens."""
    words = [
        w
        for s in shipped_corpus().sequences()
        for w in f"{s.text} {s.pair or ''}".split()
        if w.isalpha()
    ]
    while len(words) < 3 * n_tokens + skip:
        words += words
    chosen = words[skip : skip + n_tokens]
    while chosen and len(live.loaded.tokenizer.tokenize(" ".join(chosen))) > n_tokens - 2:
        chosen.pop()
    return " ".join(chosen)


def received(browser: Browser, part: str) -> int:
    """Bytes of the answers whose address has this part, with their headers."""
    found: int = browser.run(
        f"performance.getEntriesByType('resource').filter(e => e.name.includes('{part}'))"
        ".reduce((n, e) => n + e.transferSize, 0)"
    )
    return found


def main(name: str, sizes: list[int]) -> None:
    limits = Limits(requests=(1e4, 10_000), passes=(1e4, 10_000))
    live = LiveModel(load_with_head(name), limits)
    print("| tokens | the model, ms | request to drawn lines, ms | lines of a head, bytes "
          "| pictures in view, bytes | JSON of all maps, bytes | with 4 digits | lines / that "
          "| both / that |")  # fmt: skip
    print("|---" * 9 + "|")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), live=live, limits=limits) as served,
        Browser() as browser,
    ):
        for n in sizes:
            print(_row(browser, served.url, live, n))


def _row(browser: Browser, url: str, live: LiveModel, n: int) -> str:
    browser.open(f"{url}/live", "#/head=3-1&level=tokens", READY)
    drawn, model = [], []
    for i in range(N):
        text = text_of(live, n, 7 * i)
        before = int(browser.run("document.documentElement.dataset.drawn"))
        browser.run("performance.clearResourceTimings()")
        browser.type("#text", text)
        browser.click("#read .main")
        browser.wait(f"Number(document.documentElement.dataset.drawn) > {before} && {LINES}")
        drawn.append(float(browser.run("document.documentElement.dataset.ms")))
        found = live.read(text)
        model.append(1000 * found.seconds)
    browser.page.wait_for_timeout(500)
    lines = received(browser, "/read") + received(browser, "/map")
    pictures = received(browser, "/pictures")
    maps = [m.astype(np.float64) for m in found.maps["self"]]
    whole = sum(len(json.dumps(m.tolist())) for m in maps)
    short = sum(len(json.dumps(m.round(4).tolist(), separators=(",", ":"))) for m in maps)
    return (
        f"| {found.encoded.n_tokens} | {statistics.median(model):.0f} "
        f"| {statistics.median(drawn):.0f} | {lines:,} | {pictures:,} | {whole:,} | {short:,} "
        f"| 1/{short / lines:.0f} | 1/{short / (lines + pictures):.0f} |"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "default",
         [int(n) for n in sys.argv[2:]] or [16, 128, 512])  # fmt: skip
