"""Fetching: an address → its bytes, within limits of size and time, and never from a machine of the local network.

Every name is resolved here, and the connection goes to the very address that was looked at; so does each redirect. Only
`https:` to public addresses is fetched, but for the services that the person's own settings name. Proxies are not used:
through one nobody can tell whom it reaches. A server that is busy is asked again, a few times, as it says.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit

from tacit.domain.errors import Mistake, NotFound, Outage, Refusal
from tacit.features.research.papers.addresses import is_public
from tacit.features.research.papers.paper import whole_number

AGENT = "tacit"
_BUSY = frozenset({429, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})
_REDIRECTS = 5
_CHUNK = 1 << 16
_LONGEST_WAIT_S = 30.0

Resolve = Callable[[str, int], Iterable[str]]
"""Host and port → its addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was answered."""

    data: bytes
    media_type: str
    url: str
    """Where it came from in the end."""


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system knows them."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@dataclass(kw_only=True)
class Fetcher:
    """Fetches, and waits between questions to one service."""

    trusted: Collection[str] = ()
    """Services (`https://host:port`) that the person chose: they may be anywhere, and need no https."""
    timeout_s: float = 20.0
    whole_s: float = 120.0
    tries: int = 3
    pause_s: float = 3.0
    """Between two questions to one trusted service: arXiv asks for three seconds."""
    resolve: Resolve = resolved
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    _asked: dict[str, float] = field(default_factory=dict)

    def get(self, url: str, *, most_bytes: int) -> Fetched:
        """Fetch; raises `Outage` where no answer comes, and `NotFound` where there is nothing."""
        for turn in range(1, self.tries + 1):
            status, fetched, wait_s = self._follow(url, most_bytes)
            if status == http.client.OK:
                return fetched
            if status not in _BUSY or turn == self.tries:
                raise _failed(fetched.url, status)
            self.sleep(min(_LONGEST_WAIT_S, wait_s if wait_s is not None else 2.0**turn))
        raise AssertionError("unreachable")

    def _follow(self, url: str, most_bytes: int) -> tuple[int, Fetched, float | None]:
        begun = self.now()
        for _ in range(_REDIRECTS + 1):
            parts = self._checked(url)
            self._wait_turn(origin(url))
            connection = self._connected(parts, url)
            try:
                answer, data = self._asked_for(connection, parts, most_bytes=most_bytes, until=begun + self.whole_s)
            finally:
                connection.close()
            place = answer.getheader("Location")
            if answer.status not in _MOVED or not place:
                media_type = answer.getheader("Content-Type", "").partition(";")[0].strip().lower()
                return answer.status, Fetched(data=data, media_type=media_type, url=url), _wait(answer)
            url = _joined(url, place)
        raise Outage(f"{_host(url)} only sends from one place to the next", hint="open the address in a browser")

    def _checked(self, url: str) -> SplitResult:
        """The parts of an address that may be asked."""
        parts = _split(url)
        port = parts.port
        if not parts.hostname or parts.username or parts.password:
            raise Mistake(f"{url!r} is no address that can be fetched", hint="write https://host/path")
        if origin(url) not in self.trusted:
            if parts.scheme != "https":
                raise Refusal(f"only https addresses are fetched, not {url!r}", hint="save the file and add that")
            if port not in (None, 443):
                raise Refusal(f"{parts.hostname} is asked at no port but 443", hint="save the file and add that")
        return parts

    def _connected(self, parts: SplitResult, url: str) -> http.client.HTTPConnection:
        """A connection to an address that was looked at, and to no other."""
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            addresses = list(self.resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise Outage(f"{host} cannot be found", hint="check the network and the address", retryable=True) from error
        inside = [each for each in addresses if not is_public(each)]
        if not addresses or (inside and origin(url) not in self.trusted):
            told = f"{host} is a machine of the local network, which is not asked on anybody's behalf"
            raise Refusal(told, hint="save the file and add that")
        try:
            link = socket.create_connection((addresses[0], port), timeout=self.timeout_s)
            if parts.scheme == "https":
                link = ssl.create_default_context().wrap_socket(link, server_hostname=host)
        except OSError as error:
            raise Outage(f"{host} cannot be reached: {error}", hint="try again later", retryable=True) from error
        connection = http.client.HTTPConnection(host, port, timeout=self.timeout_s)
        connection.sock = link
        return connection

    def _asked_for(
        self, connection: http.client.HTTPConnection, parts: SplitResult, *, most_bytes: int, until: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"User-Agent": AGENT, "Accept-Encoding": "identity", "Accept": "*/*"}
        clock = threading.Timer(max(0.0, until - self.now()), _cut, (connection.sock,))
        clock.daemon = True
        try:
            clock.start()
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            data = bytearray()
            while chunk := answer.read1(_CHUNK):
                data += chunk
                if len(data) > most_bytes:
                    raise Refusal(
                        f"{parts.hostname} sends more than {most_bytes >> 20} MB", hint="save it and add a part"
                    )
            if answer.length:
                raise http.client.IncompleteRead(bytes(data), answer.length)
        except (OSError, http.client.HTTPException, ValueError) as error:
            told = f"{parts.hostname} did not answer as it should: {type(error).__name__}"
            raise Outage(told, hint="try again later", retryable=True) from error
        finally:
            clock.cancel()
        return answer, bytes(data)

    def _wait_turn(self, service: str) -> None:
        if service in self.trusted and service in self._asked:
            self.sleep(max(0.0, self._asked[service] + self.pause_s - self.now()))
        self._asked[service] = self.now()


def _cut(link: socket.socket) -> None:
    """End a connection whose time is up, whatever it is doing."""
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


def origin(url: str) -> str:
    """Scheme, host and port of an address."""
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _split(url: str) -> SplitResult:
    """The parts of an address whose port is a number."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018
    except ValueError as error:
        raise Mistake(f"{url!r} is no address: {error}", hint="write https://host/path") from error
    return parts


def _joined(url: str, place: str) -> str:
    """Where an answer sends to, seen from where it came from."""
    try:
        return _split(urljoin(url, place)).geturl()
    except (ValueError, Mistake) as error:
        told = f"{_host(url)} sends to what is no address: {error}"
        raise Outage(told, hint="open the address in a browser") from error


def _host(url: str) -> str:
    return _split(url).hostname or url


def _wait(answer: http.client.HTTPResponse) -> float | None:
    said = answer.getheader("Retry-After", "")
    return float(whole_number(said)) if whole_number(said) or said == "0" else None


def _failed(url: str, status: int) -> NotFound | Outage:
    host = _host(url)
    if status in (404, 410):
        return NotFound(f"{host} has nothing there", hint="check the identifier or address")
    if status == 429:
        return Outage(f"{host} asks for fewer questions (HTTP 429)", hint="try again in some minutes", retryable=True)
    if status in (401, 403):
        return Outage(f"{host} does not give it to programs (HTTP {status})", hint="save the file and add that")
    return Outage(f"{host} answered with HTTP status {status}", hint="try again later", retryable=status >= 500)
