"""Take the pictures of the explorer that the documentation shows.

python -m scripts.explorer_pictures RUN docs/images
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from headscope.explorer.limits import Limits
from headscope.explorer.live.loading import load_with_head
from headscope.explorer.live.passes import LiveModel
from headscope.measures.patterns.labelled_maps import save_maps, shipped_maps
from tests.chromium import Browser
from tests.explorer.served import serving

READY = "document.documentElement.dataset.ready == 'yes'"
SENTENCE = "The chef who ran to the store was out of food, so she borrowed our pan."
LIVE = urlencode({"head": "3-9", "text": SENTENCE})
EDITED = urlencode({"head": "4-2", "text": SENTENCE, "show": "map", "edits": "uniform~3-9~1"})
DRAWN = "document.querySelector('.layer[data-drawn]')"
CHANGED = "document.getElementById('downstream').innerText"
#: Name: width, height, dark, page, state, what to wait for.
VIEWS = {
    "explorer_live": (1440, 900, False, "/live", LIVE, DRAWN),
    "explorer_what_if": (1440, 1000, True, "/live", EDITED, CHANGED),
    "explorer_live_narrow": (390, 844, False, "/live", LIVE, "true"),
    "explorer_tables": (1440, 900, False, "/run/demo/tables", "", "document.querySelector('td')"),
    "explorer_sentences": (1440, 900, True, "/run/demo/sentences", "head=3-9", "true"),
    "explorer_labelling": (1440, 900, False, "/label", "", "document.getElementById('keys')"),
}


def main(run: Path, folder: Path) -> None:
    limits = Limits(requests=(1e4, 10_000), passes=(1e4, 10_000))
    live = LiveModel(load_with_head("default"), limits)
    with tempfile.TemporaryDirectory() as made:
        shutil.copytree(run, Path(made) / "demo")
        maps = shipped_maps("training")
        for i in range(0, len(maps), 2):
            maps = maps.labelled(i, None)
        save_maps(Path(made) / "maps.json", maps)
        with serving(Path(made), live=live, limits=limits) as served, Browser() as browser:
            for name, (width, height, dark, page, state, wanted) in VIEWS.items():
                browser.size(width, height, dark=dark)
                browser.open(served.url + page, f"#/{state}" if state else "", READY)
                browser.wait(wanted)
                if name == "explorer_live_narrow":
                    browser.run("document.querySelector('.look').scrollIntoView()")
                browser.page.wait_for_timeout(800)
                browser.screenshot(folder / f"{name}.png")
                print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
