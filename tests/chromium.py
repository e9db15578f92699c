"""A real Chromium over its debugging pipe: load, type, click, look. No package is needed for it.

Commands and events are JSON ended by a zero byte, written to the browser's descriptor 3 and read
from its descriptor 4. Everything the page says on the console, every exception and every request
is kept.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_KEYS = {
    "Enter": 13, "Escape": 27, "Tab": 9, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Browser:
    """One browser with one page; use it in a `with` statement."""

    def __init__(self, timeout_seconds: float = 60.0) -> None:
        assert CHROMIUM, "no Chromium"
        self.timeout_seconds = timeout_seconds
        self.console: list[str] = []
        self.requests: list[str] = []
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._events: list[dict[str, Any]] = []
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [CHROMIUM, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        # descriptors above 9 need words that dash lacks, so bash moves them to 3 and 4
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "-", *command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._session = ""

    def __enter__(self) -> Self:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        found = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        ends = time.monotonic() + self.timeout_seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, ends - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        read: dict[str, Any] = json.loads(message)
        return read

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif event["method"] == "Runtime.consoleAPICalled":
            self.console.append(str([a.get("value") for a in told["args"]]))
        elif event["method"] == "Log.entryAdded":
            self.console.append(told["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """The window, and which colours its owner prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(
        self, page: Path, hash_: str = "", ready: str = "document.readyState=='complete'"
    ) -> None:
        """Load a file and wait until an expression is true."""
        self.call("Page.navigate", url="about:blank")
        self.console.clear()
        self.requests.clear()
        self.call("Page.navigate", url=page.resolve().as_uri() + hash_)
        self.wait(f"location.protocol == 'file:' && document.documentElement && {ready}")

    def wait(self, expression: str) -> None:
        """Until an expression is true in the page."""
        ends = time.monotonic() + self.timeout_seconds
        while not self.run(f"Boolean({expression})"):
            if time.monotonic() > ends:
                raise TimeoutError(f"never became true: {expression}; console: {self.console}")
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; the page's policy does not bind the debugger."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Real key strokes, to whatever has the focus."""
        for key in keys:
            told = {"key": key, "windowsVirtualKeyCode": _KEYS.get(key, ord(key[0].upper()))}
            typed = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
            down = "keyDown" if typed else "rawKeyDown"
            self.call("Input.dispatchKeyEvent", type=down, **told, **typed)
            self.call("Input.dispatchKeyEvent", type="keyUp", **told)

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element that matches."""
        quoted = json.dumps(selector)
        middle = "{block: 'center', behavior: 'instant'}"
        self.run(f"document.querySelector({quoted}).scrollIntoView({middle})")
        x, y = self.run(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])"
            f"(document.querySelector({quoted}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def enter_frame(self) -> None:
        """Go on inside the page's frame, which a sandbox puts into a process of its own."""
        self._session, page = "", self._session
        frames = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "iframe"]
        assert len(frames) == 1, (page, frames)
        found = self.call("Target.attachToTarget", targetId=frames[0]["targetId"], flatten=True)
        self._session = found["sessionId"]
        for domain in ("Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def text(self, selector: str) -> str:
        """What people read in the first element that matches."""
        found: str = self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return found

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A PNG of what is seen, or of the whole page."""
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(picture))

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
