"""Posting: a body to one address → its answer, within one limit of time for everything and one of size. Follows nothing.

What is posted may carry a key, so it goes to the host that was named and to no other: redirects are handed back as the answers
that they are, and no proxy is used. The limit holds from connecting to the last byte, however slowly the bytes come; only
looking up a name is left to the system, which has a limit of its own. Nothing is tried twice here.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from tacit.domain.errors import Mistake, Outage

_TLS = "https"
_ALWAYS = {"User-Agent": "tacit", "Connection": "close"}


class Unreachable(Outage):
    """Nobody answers at that address."""


class Late(Outage):
    """The time was up before the answer was whole."""


class Garbled(Outage):
    """What came was no whole HTTP answer."""


class Endless(Outage):
    """More came than was wanted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said."""

    status: int
    reason: str
    data: bytes

    @property
    def is_success(self) -> bool:
        """Whether the server did what it was asked."""
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        """Whether the server sends to another place."""
        return 300 <= self.status < 400


def checked(url: str, *, example: str) -> SplitResult:
    """The parts of an address that can be posted to; a `Mistake` where it is none."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", _TLS) and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise Mistake(f"{url!r} is no web address: {error}", hint=example) from error
    if not sound or not url.isascii() or not url.isprintable() or " " in url:
        raise Mistake(f"{url!r} is no web address", hint=example)
    if parts.username or parts.password:
        raise Mistake("the address of the server holds a login", hint=f"leave it out: {example}")
    return parts


def post(url: str, body: bytes, *, headers: Mapping[str, str], timeout_s: float, most_bytes: int) -> Answer:
    """Post, and read the whole answer; raises `Unreachable`, `Late`, `Garbled` or `Endless` where that cannot be done."""
    parts = checked(url, example="http://127.0.0.1:8080/path")
    host, until = parts.hostname or "", time.monotonic() + timeout_s
    connection = http.client.HTTPConnection(host, parts.port or _port(parts))
    try:
        connection.sock = link = _linked(host, parts.port or _port(parts), until)
        if parts.scheme == _TLS:
            connection.sock = link = ssl.create_default_context().wrap_socket(
                link, server_hostname=host, do_handshake_on_connect=False
            )
        with _cut_at(link, until):
            if isinstance(link, ssl.SSLSocket):
                link.do_handshake()
            connection.request("POST", _path(parts), body=body, headers={**_ALWAYS, **headers})
            with connection.getresponse() as answer:
                return _read(answer, most_bytes)
    except TimeoutError as error:
        raise Late(f"no whole answer came within {timeout_s:g} seconds", retryable=True) from error
    except (OSError, http.client.HTTPException) as error:
        raise Garbled(f"the connection broke off: {str(error) or type(error).__name__}", retryable=True) from error
    except ValueError as error:  # its words may hold a header, and a header the key
        raise Garbled("what is asked or answered is no HTTP") from error
    finally:
        connection.close()


# --- inside -----------------------------------------------------------------------------------------------------------


def _linked(host: str, port: int, until: float) -> socket.socket:
    """A connection to the first address of a host that takes one."""
    problem: Exception = OSError("it has no address")
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            link = socket.socket(family, kind, protocol)
            try:
                link.settimeout(_left(until))
                link.connect(address)
            except OSError as error:
                link.close()
                problem = error
            else:
                return link
    except (OSError, UnicodeError) as error:
        problem = error
    if isinstance(problem, TimeoutError):
        raise problem
    raise Unreachable(f"{host} cannot be reached: {problem}", retryable=True)


@contextlib.contextmanager
def _cut_at(link: socket.socket, until: float) -> Iterator[None]:
    """End the connection when the time is up, whatever it is doing: a limit for each read would begin anew with every byte."""
    up = threading.Event()

    def cut() -> None:
        up.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(link, socket.SHUT_RDWR)  # TLS's own would change what is being read

    clock = threading.Timer(_left(until), cut)
    clock.daemon = True
    clock.start()
    try:
        yield
    except (OSError, ValueError, http.client.HTTPException) as error:
        if up.is_set():
            raise TimeoutError from error
        raise
    finally:
        clock.cancel()
        clock.join()
    if up.is_set():  # an answer without a length looks whole wherever it is cut
        raise TimeoutError


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _read(answer: http.client.HTTPResponse, most_bytes: int) -> Answer:
    data = answer.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise Endless(f"the answer is longer than {most_bytes / (1 << 20):g} MB")
    if answer.length:
        raise http.client.IncompleteRead(data, answer.length)
    return Answer(answer.status, answer.reason, data)


def _port(parts: SplitResult) -> int:
    return 443 if parts.scheme == _TLS else 80


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
