"""Servers on this machine that say what they are told to, byte by byte: whole answers, broken ones, and ones that never end."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[socket.socket, threading.Event], None]
"""What is done with one connection; the event says that the test is over."""
_DRIP_S = 0.05
_DRIPS = 400


@contextmanager
def scripted(script: Script) -> Iterator[tuple[str, list[bytes]]]:
    """A server on a free port: its `host:port`, and each request that came."""
    over, heard, threads = threading.Event(), list[bytes](), list[threading.Thread]()
    listening = socket.create_server(("127.0.0.1", 0))

    def one(link: socket.socket) -> None:
        with link, suppress(OSError):
            link.settimeout(10)
            heard.append(_request(link))
            script(link, over)

    def serve() -> None:
        with suppress(OSError):
            while not over.is_set():
                link, _ = listening.accept()
                threads.append(threading.Thread(target=one, args=(link,)))
                threads[-1].start()

    server = threading.Thread(target=serve)
    server.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}", heard
    finally:
        over.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # ends the waiting for the next one
        listening.close()
        for thread in (server, *threads):
            thread.join(timeout=10)


def _request(link: socket.socket) -> bytes:
    """A request to its end: what is closed with bytes unread resets the connection, and the answer is lost."""
    data = link.recv(1 << 16)
    if not data[:1].isalpha():
        return data  # a TLS greeting
    while b"\r\n\r\n" not in data and (more := link.recv(1 << 16)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    stated = re.search(rb"(?i)content-length: *(\d+)", head)
    while stated and len(body) < int(stated[1]) and (more := link.recv(1 << 16)):
        body += more
    return head + b"\r\n\r\n" + body


@contextmanager
def answering(
    answer: Callable[[list[dict[str, Any]]], tuple[int, bytes]],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers posted JSON by what it was asked so far: its `host:port`, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Posted(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({**body, "path": self.path, "key": self.headers["Authorization"]})
            status, data = answer(asked)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Posted)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def saying(data: bytes) -> Script:
    """Says this at once, and ends."""
    return lambda link, over: link.sendall(data)


def dripping(data: bytes, then: bytes = b"") -> Script:
    """Says this at once, then one byte after the other, each well within any patience; whole at last, after very long."""

    def drip(link: socket.socket, over: threading.Event) -> None:
        link.sendall(data)
        for _ in range(_DRIPS):
            if over.wait(_DRIP_S):
                return
            link.sendall(b" ")
        link.sendall(then)

    return drip


def redirecting(place: str) -> Script:
    """Sends elsewhere."""
    return saying(f"HTTP/1.1 307 Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())
