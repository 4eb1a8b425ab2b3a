"""A real service on loopback that runs what a project's deploy script put there."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

BROKEN = "broken"
"""A release that starts and is not well."""


class Service:
    """Answers `/health` for the release in its folder: 200 if one is there and well, else 503."""

    def __init__(self, folder: Path) -> None:
        self.live = folder / "release"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _answering(self.live))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def deploy_script(self) -> str:
        """What a project runs to put a release into service."""
        return f'#!/bin/sh\nset -e\necho "$1" > {self.live}\necho "release $1 is live at {self.address}"\n'

    def __enter__(self) -> Service:
        self.live.parent.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _answering(live: Path) -> type[BaseHTTPRequestHandler]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            release = live.read_text().strip() if live.is_file() else ""
            well = bool(release) and release != BROKEN
            content = json.dumps({"status": "ok" if well else "down", "release": release}).encode()
            self.send_response(200 if well else 503)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    return Answer
