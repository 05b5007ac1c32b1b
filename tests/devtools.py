"""A browser that a test drives: opens pages, clicks, and hears errors and requests.

It is spoken to over a pipe, in Chromium's DevTools protocol.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import BROWSER

SECONDS = 120  # that an answer or a page may take on a busy machine


class Page:
    """One tab. `errors` are what scripts and the console said, `requests` the addresses asked."""

    def __init__(self, to: int, out: int) -> None:
        self.to, self.out = to, out
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; what happens meanwhile is noted."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("id") == number:
                assert "error" not in heard, (method, heard["error"])
                return heard["result"]

    def open(self, path: Path, width: int = 1366, dark: bool = False) -> None:
        """Open a file in a window of a width and a colour scheme, and wait until it has loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.loaded = False
        self.call("Page.navigate", url=path.as_uri())
        while not self.loaded:
            self._hear()

    def run(self, script: str) -> Any:
        """Return what an expression is in the page; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, (script, found["exceptionDetails"])
        return found["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + SECONDS
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def point_at(self, x: float, y: float) -> None:
        """Move the pointer there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press a key, by its name."""
        for event in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=event, key=key)

    def picture(self, path: Path) -> None:
        """Write a screenshot of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        taken = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def _hear(self) -> dict[str, Any]:
        """Return the next message, and note it where it tells of an error, a request or a load."""
        while b"\0" not in self.buffer:
            assert select.select([self.out], [], [], SECONDS)[0], "the browser says nothing"
            self.buffer += os.read(self.out, 1 << 20)
        text, _, self.buffer = self.buffer.partition(b"\0")
        heard: dict[str, Any] = json.loads(text)
        told, method = heard.get("params", {}), heard.get("method")
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.errors.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.errors.append(str(told["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        return heard


@contextmanager
def opened(folder: Path) -> Iterator[Page]:
    """Give a page of a browser of its own, whose profile lies in a folder."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    # The browser reads at 3 and writes at 4.
    command = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
               f"--user-data-dir={folder / 'profile'}"]  # fmt: skip
    process = subprocess.Popen(
        ["bash", "-c", command, str(BROWSER), *options],
        pass_fds=(to_read, from_write),
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Page(to_write, from_read)
    finally:
        process.kill()
        process.wait()
        os.close(to_write)
        os.close(from_read)
