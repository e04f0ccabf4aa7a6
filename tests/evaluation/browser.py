"""A headless Chromium, spoken to through two pipes (DevTools protocol): the standard library is enough."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
STARTS = ("Network.requestWillBeSent", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")

# The protocol's pipes are 3 and 4, whatever numbers they had here.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def chromium() -> str | None:
    """Return the browser's path, None where there is none."""
    return next((result for name in PROGRAMS if (result := shutil.which(name))), None)


class Browser:
    """One page of the browser; `events` are those named in STARTS, in order."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, os.fdopen(read, "rb", buffering=0)
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    _session: str | None = None

    def call(self, method: str, **parameters: Any) -> Any:
        """Return what the browser answers; events that come before are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path: Path, width: int, height: int = 900, media: str = "") -> None:
        """Load a page of a file at a width in CSS pixels."""
        self.open_url(path.resolve().as_uri(), width, height, media)

    def open_url(self, url: str, width: int, height: int = 900, media: str = "") -> None:
        """Load a page at a width in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True)
        self.call("Emulation.setEmulatedMedia", media=media)
        self.events.clear()
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._next()

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Return the page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = self._read.read(1 << 16)
            assert read, "the browser has gone"
            self._rest += read
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        if message.get("method") in STARTS:
            self.events.append(message)
        self._loaded |= message.get("method") == "Page.loadEventFired"
        return message


@contextmanager
def opened_browser(profile: Path) -> Iterator[Browser]:
    """Start the browser with a profile folder of its own; it ends with the block."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    program = chromium()
    assert program is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
    done = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, str(to_read), str(from_write), program, *flags, "--remote-debugging-pipe"],
        pass_fds=(to_read, from_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(to_write, from_read)
    finally:
        os.close(to_write)
        done.terminate()
        done.wait(20)
