"""A real Chromium, driven by Playwright: load, type, click, look.

The system's own Chromium is used (`apt-get install chromium`); nothing is ever downloaded.
Everything a page says on the console, every exception and every request is kept.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Frame, Page, Playwright, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")

_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
    # whatever a page asks of another machine, it does not get
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]  # fmt: skip


@functools.cache
def _driver() -> Playwright:
    """One driver per process; it may have several browsers."""
    manager = sync_playwright()
    driver = manager.start()
    atexit.register(driver.stop)
    return driver


class Browser:
    """One browser with one page; use it in a `with` statement."""

    def __init__(self, timeout_seconds: float = 60.0) -> None:
        assert CHROMIUM, "no Chromium"
        self.timeout_seconds = timeout_seconds
        self.console: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        self._browser = _driver().chromium.launch(
            executable_path=CHROMIUM, headless=True, args=_FLAGS
        )
        self._context = self._browser.new_context(viewport={"width": 1440, "height": 900})
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(self.timeout_seconds * 1000)
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self._frame: Frame = self.page.main_frame
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._browser.close()

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """The window, and which colours its owner prefers."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if dark else "light")

    def open(
        self, page: Path | str, hash_: str = "", ready: str = "document.readyState=='complete'"
    ) -> None:
        """Load a file or an address and wait until an expression is true."""
        self.page.goto("about:blank")
        self.console.clear()
        self.requests.clear()
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.page.goto(address + hash_)
        self.wait(ready)

    def wait(self, expression: str) -> None:
        """Until an expression is true in the page."""
        # not Playwright's own waiting: it evaluates inside the page, where the policy forbids it
        ends = time.monotonic() + self.timeout_seconds
        while not self.run(f"Boolean({expression})"):
            if time.monotonic() > ends:
                raise TimeoutError(f"never became true: {expression}; console: {self.console}")
            self.page.wait_for_timeout(25)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; the page's policy does not bind the debugger."""
        return self._frame.evaluate(expression)

    def press(self, *keys: str) -> None:
        """Real key strokes, to whatever has the focus."""
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, selector: str, text: str) -> None:
        """Replace the text of a field."""
        self._frame.fill(selector, text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list by its value."""
        self._frame.select_option(selector, value)

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element that matches."""
        self._frame.locator(selector).first.click()

    def enter_frame(self) -> None:
        """Go on inside the page's frame."""
        frames = [frame for frame in self.page.frames if frame is not self.page.main_frame]
        assert len(frames) == 1, frames
        self._frame = frames[0]

    def text(self, selector: str) -> str:
        """What people read in the first element that matches."""
        return self._frame.locator(selector).first.inner_text()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A PNG of what is seen, or of the whole page."""
        self.page.screenshot(path=path, full_page=whole)

    def pdf(self) -> bytes:
        """The page as it prints."""
        return self.page.pdf(print_background=True)
