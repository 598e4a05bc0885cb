"""A page in headless Chromium, over the browser's own protocol (Chrome DevTools Protocol, by a pair of pipes)."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from flightpath.errors import FlightpathError, MissingCapability
from flightpath.waiting import wait_until
from results.store.ownership import writing_to

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_LIMIT_S = 300.0
"""Limit for one answer of the browser."""

_START = """\
import fcntl, os, sys
first, second = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(first, 3)
os.dup2(second, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Program that starts the browser with its end of the pipes where it expects them."""


def browser(purpose: str = "PDF", instead: str = "open the HTML page in any browser, and print it into a file") -> str:
    """Returns the path of a browser that needs no window.

    Raises:
        MissingCapability: none is installed.
    """
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise MissingCapability(f"{purpose} needs Chromium, which is not installed", f"make browser-setup; or {instead}")


def print_pdf(page: str, target: Path) -> None:
    """Prints an HTML page that needs no other file, and replaces the target."""
    with Page(browser(), page) as opened:
        opened.wait_for("document.readyState === 'complete'")
        printed = opened.pdf()
    with writing_to(target):
        target.write_bytes(printed)


class Page:
    """A page, as a context manager.

    Args:
        content: HTML that needs no other file.
        width, height: size of the window, in pixels.
    """

    def __init__(self, program: str, content: str, width: int = 1280, height: int = 800) -> None:
        self._program, self._content, self._size = program, content, (width, height)
        self._rest, self._number, self._session = b"", 0, ""

    def __enter__(self) -> Self:
        """Opens the page.

        Raises:
            FlightpathError: the browser does not start, or ends.
        """
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="flightpath-browser-", ignore_cleanup_errors=True)
        file = Path(self._folder.name) / "page.html"
        file.write_text(self._content, encoding="utf-8")
        options = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--hide-scrollbars"]
        options += ["--force-color-profile=srgb", f"--user-data-dir={self._folder.name}/profile"]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, str(commands), str(answers), self._program, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers),
        )
        os.close(commands)
        os.close(answers)
        try:
            target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
            attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
            self._session = attached["sessionId"]
            self.resize(*self._size)
            self._call("Page.navigate", {"url": file.as_uri()})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._commands)  # ends it
        os.close(self._answers)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def evaluate(self, expression: str) -> Any:
        """Returns the value of an expression in the page; waits for a promise.

        Raises:
            FlightpathError: it has none.
        """
        answer = self._call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise FlightpathError(f"the page failed: {answer['exceptionDetails'].get('text')}: {expression}")
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Waits until the page is open, and an expression in it is true."""
        opened = f"location.protocol === 'file:' && ({condition})"
        wait_until(lambda: self.evaluate(opened), "the page to open", _LIMIT_S)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", size)

    def picture(self) -> bytes:
        """Returns what is in the window, as PNG."""
        answer = self._call("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        """Returns the page as PDF, on paper of the size that its style names."""
        answer = self._call("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
        return base64.b64decode(answer["data"])

    def _call(self, method: str, parameters: Mapping[str, Any]) -> Any:
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        call |= {"sessionId": self._session} if self._session else {}
        try:
            os.write(self._commands, json.dumps(call).encode() + b"\0")
            while (answer := self._message()).get("id") != self._number:
                pass
        except OSError as error:
            raise FlightpathError(f"{self._program} has ended: {error.strerror}") from error
        if "error" in answer:
            raise FlightpathError(f"{self._program} refuses {method}: {answer['error'].get('message')}")
        return answer["result"]

    def _message(self) -> Mapping[str, Any]:
        """Returns the next answer or event, each of which ends with a zero byte."""
        deadline = time.monotonic() + _LIMIT_S
        parts = [self._rest]
        while b"\0" not in parts[-1]:
            if not select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise FlightpathError(f"{self._program} did not answer within {_LIMIT_S:g} s")
            if not (data := os.read(self._answers, 1 << 16)):
                raise FlightpathError(f"{self._program} has ended")
            parts.append(data)
        text, _, self._rest = b"".join(parts).partition(b"\0")
        message: Mapping[str, Any] = json.loads(text)
        return message
