"""axe-core, the usual judge of accessibility, inside a page under test."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import Any

from tests.chromium import Browser

#: What WCAG 2.2 asks for at levels A and AA, and what axe calls best practice.
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(browser: Browser) -> list[str]:
    """What axe finds wrong with the page as it is now: rule, element, reason.

    The script is the npm package's own build, which axe-playwright-python carries; HEADSCOPE_AXE
    names another one.
    """
    own = os.environ.get("HEADSCOPE_AXE")
    packed = resources.files("axe_playwright_python") / "axe.min.js"
    script = Path(own).read_text(encoding="utf-8") if own else packed.read_text(encoding="utf-8")
    # as the debugger, whom the page's policy does not bind
    browser.run(f"(() => {{ {script}\n; return true; }})()")
    found: dict[str, Any] = browser.run(f"axe.run(document, {{runOnly: {_TAGS}}})")
    return [
        f"{rule['id']}: {node['target']}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
