"""A language model that is only a script: a client's requests in, scripted turns out, on loopback.

The server answers the requests of each dialect in `dialects.py`. The script is a function of the request, so it can act on
what is in there and on nothing else. Every request is kept. Bounded: size of a request, number of requests, seconds of
waiting for one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.e2e.loops.dialects import DIALECTS, Dialect, Request, Turn, whole_chat

MAX_BYTES = 16_000_000
MAX_REQUESTS = 200
WAIT_S = 30

Script = Callable[[Request], Turn]


class ScriptedModel:
    """Serves one script at a time; `requests` are those that asked for a turn."""

    def __init__(self) -> None:
        self.script: Script = lambda _: Turn("There is nothing to do.")
        self.requests: list[Request] = []
        self.bodies: list[dict[str, Any]] = []
        """Every request, as it was sent."""
        self.logins: list[str] = []
        """What each request said who is asking."""
        self.refuses_with = 0
        """The HTTP status to answer with, if any."""
        self.faults: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _answering(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def address(self) -> str:
        """Where the API is, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def turn(self, dialect: Dialect, body: dict[str, Any]) -> Turn:
        """The script's answer; requests without tools (titles, summaries) are none of its business."""
        request = dialect.read(body)
        if not request.tools:
            return Turn("ok")
        self.requests.append(request)
        if len(self.requests) > MAX_REQUESTS:
            self.faults.append(f"more than {MAX_REQUESTS} requests")
            return Turn("Enough.")
        return self.script(request)

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(WAIT_S)


def _answering(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Answer(BaseHTTPRequestHandler):
        timeout = WAIT_S

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            path = self.path.split("?")[0]
            dialect = next((found for ending, found in DIALECTS.items() if path.endswith(ending)), None)
            if not 0 < size <= MAX_BYTES or self.headers.get("Content-Encoding") or dialect is None:
                model.faults.append(f"POST {path} with {size} bytes was not answered")
                self._send(404, "application/json", b'{"error": {"type": "not_found_error", "message": "no"}}')
                return
            body = json.loads(self.rfile.read(size))
            model.bodies.append(body)
            model.logins.append(str(self.headers.get("Authorization")))
            if model.refuses_with:
                error = {"error": {"type": "scripted_error", "message": "no"}}
                self._send(model.refuses_with, "application/json", json.dumps(error).encode())
                return
            events = dialect.events(model.turn(dialect, body), str(body.get("model", "")))
            if path.endswith(":generateContent") or (path.endswith("completions") and not body.get("stream")):
                answer = events[0] if path.endswith(":generateContent") else whole_chat(events)
                self._send(200, "application/json", json.dumps(answer).encode())
                return
            names = (f"event: {event['type']}\n" if "type" in event else "" for event in events)
            stream = "".join(f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(names, events, strict=True))
            self._send(200, "text/event-stream", (stream + "data: [DONE]\n\n" * path.endswith("completions")).encode())

        def do_GET(self) -> None:
            self._send(200, "application/json", b'{"object": "list", "data": [], "models": []}')

        def do_HEAD(self) -> None:
            self._send(200, "application/json", b"")

        def _send(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at what was kept."""

    return Answer
