"""A real Chromium, driven through chromedriver's own protocol (W3C WebDriver): no library lies between test and browser."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
).split()
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Space": " ", "Control": "\ue009"}
_WAIT_S = 30.0


def chromium() -> tuple[str, str] | None:
    """The browser and its driver, where both are installed."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (found, driver) if found and driver else None


class Browser:
    """One window of a browser with a fresh profile."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._session = ""

    def open_window(self, binary: str, profile: str) -> None:
        options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def go(self, url: str) -> None:
        self._ask("POST", f"{self._session}/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page and return its value."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script: str, *arguments: Any) -> Any:
        """Run a script that calls its last argument with the value."""
        return self._ask("POST", f"{self._session}/execute/async", {"script": script, "args": arguments})

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def press(self, *keys: str, held: str = "") -> None:
        """Press keys one after the other, as a person does; `held` is held meanwhile."""
        typed = [KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": key} for key in typed for kind in ("keyDown", "keyUp")]
        if held:
            actions = [{"type": "keyDown", "value": KEYS[held]}, *actions, {"type": "keyUp", "value": KEYS[held]}]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("POST", f"{self._session}/actions", {"actions": [keyboard]})

    def type(self, text: str) -> None:
        self.press(*text)

    def wait(self, script: str, *arguments: Any) -> Any:
        """Wait until a script returns something true, and return it."""
        until = time.monotonic() + _WAIT_S
        while time.monotonic() < until:
            if found := self.run(script, *arguments):
                return found
            time.sleep(0.05)
        raise AssertionError(f"{script}\n{self.text()[:2000]}\n{self.errors()}")

    def wait_for(self, selector: str, text: str = "") -> None:
        """Wait until an element with this text is there, and no page is being loaded."""
        self.wait(
            "return !document.querySelector('main[aria-busy]') && "
            "[...document.querySelectorAll(arguments[0])].some(e => e.textContent.includes(arguments[1]))",
            selector,
            text,
        )

    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def errors(self) -> list[str]:
        """What the page complained about since the last call."""
        found = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [each["message"] for each in found if each["level"] in ("SEVERE", "ERROR")]

    def look(self, *, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Set the size of the page and the colours that the person prefers."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        preferred = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferred.items()]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        found = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self._ask("DELETE", self._session)


@contextlib.contextmanager
def driver() -> Iterator[Callable[[], Browser]]:
    """Start chromedriver; yields a function that opens a window with a profile of its own."""
    found = chromium()
    assert found is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [found[1], f"--port={port}", "--log-level=OFF"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=kept | {"TMPDIR": folder},
        )
        opened: list[Browser] = []

        def window() -> Browser:
            browser = Browser(f"http://127.0.0.1:{port}")
            browser.open_window(found[0], tempfile.mkdtemp(dir=folder))
            opened.append(browser)
            return browser

        try:
            _wait_for(port)
            yield window
        finally:
            for browser in opened:
                with contextlib.suppress(AssertionError, OSError):
                    browser.close()
            process.terminate()
            process.wait(timeout=30)


def _wait_for(port: int) -> None:
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < until, "chromedriver does not listen"
            time.sleep(0.05)
