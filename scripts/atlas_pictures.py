"""Take the pictures of the atlas that the documentation shows, from the report of a run.

python -m scripts.atlas_pictures out/demo/report.html docs/images
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.chromium import Browser

READY = "document.documentElement.dataset.ready == 'yes'"
VIEWS = {
    "atlas": (1440, 900, False, "#/head=3-1"),
    "atlas_narrow_dark": (390, 844, True, "#/head=3-1"),
}


def main(page: Path, folder: Path) -> None:
    with Browser() as browser:
        for name, (width, height, dark, state) in VIEWS.items():
            browser.size(width, height, dark=dark)
            browser.open(page, state, READY)
            browser.screenshot(folder / f"{name}.png")
            print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
