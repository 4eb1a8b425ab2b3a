"""The HTTP client: one request within one limit of time and one of size.

A request goes to the host that the caller names: no proxy is used, and no redirect is followed, since a request may carry a
key. The time limit covers everything from connecting to the last byte.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from tacit.domain.errors import Mistake, Outage

UNREACHABLE = "http_unreachable"
"""Code of the error when no address of the host accepts a connection."""
TIMED_OUT = "http_timed_out"
MALFORMED = "http_malformed"
"""Code of the error when the connection breaks off, or the answer is no complete HTTP answer."""
TOO_LARGE = "http_too_large"
_USER_AGENT = "tacit"
EXAMPLE = "write https://host/path"

Resolve = Callable[[str, int], Iterable[str]]
"""Returns the addresses of a host and port."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What a server answered."""

    status: int
    reason: str
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    """By lower-case name."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        """Whether the status is 3xx."""
        return 300 <= self.status < 400


def check_url(url: str, *, example: str = EXAMPLE) -> SplitResult:
    """Return the parts of an address that can be asked; raise `Mistake` for any other."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise Mistake(f"{url!r} is not a web address: {error}", code="invalid_url", hint=example) from error
    if not is_valid or not url.isascii() or not url.isprintable() or " " in url:
        raise Mistake(f"{url!r} is not a web address", code="invalid_url", hint=example)
    if parts.username or parts.password:
        raise Mistake("the address contains a login", code="login_in_url", hint=f"leave it out: {example}")
    return parts


def post(url: str, body: bytes, *, headers: Mapping[str, str], timeout_s: float, max_bytes: int) -> HttpResponse:
    """Post a body and read the whole answer. Every failure is an `Outage` with one of the codes of this module."""
    parts = check_url(url, example="http://127.0.0.1:8080/path")
    return send(
        "POST", parts, addresses_of(parts), body=body, headers=headers, timeout_s=timeout_s, max_bytes=max_bytes
    )


def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system knows them."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def send(
    method: str,
    parts: SplitResult,
    addresses: Sequence[str],
    *,
    headers: Mapping[str, str],
    timeout_s: float,
    max_bytes: int,
    body: bytes | None = None,
) -> HttpResponse:
    """Send one request to the first address that accepts a connection, and read the whole answer."""
    until = time.monotonic() + timeout_s
    host = parts.hostname or ""
    connection = http.client.HTTPConnection(host, _port(parts))
    try:
        connection.sock = link = _connect(host, addresses, _port(parts), until)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection.sock = link = context.wrap_socket(link, server_hostname=host, do_handshake_on_connect=False)
        with _cut_at(link, until):
            if isinstance(link, ssl.SSLSocket):
                link.do_handshake()
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            fixed = {"User-Agent": _USER_AGENT, "Connection": "close"}
            connection.request(method, path, body=body, headers={**fixed, **headers})
            with connection.getresponse() as answer:
                return _read(answer, max_bytes)
    except TimeoutError as error:
        message = f"no complete answer within {timeout_s:g} seconds"
        raise Outage(message, code=TIMED_OUT, hint="try again later", retryable=True) from error
    except (OSError, http.client.HTTPException) as error:
        message = f"{host} broke off the connection: {str(error) or type(error).__name__}"
        raise Outage(message, code=MALFORMED, hint="try again later", retryable=True) from error
    except ValueError as error:  # its message may contain a header, and a header may contain a key
        raise Outage("the request or the answer is not valid HTTP", code=MALFORMED, hint="try again later") from error
    finally:
        connection.close()


def _connect(host: str, addresses: Sequence[str], port: int, until: float) -> socket.socket:
    problem: OSError = OSError("it has no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout=_time_left(until))
        except OSError as error:
            problem = error
    if isinstance(problem, TimeoutError):
        raise problem
    raise Outage(
        f"{host} cannot be reached: {problem}", code=UNREACHABLE, hint="try again later", retryable=True
    ) from problem


@contextlib.contextmanager
def _cut_at(link: socket.socket, until: float) -> Iterator[None]:
    """Shut the connection down at the deadline: a timeout of the socket would start again with every byte."""
    is_over = threading.Event()

    def cut() -> None:
        is_over.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(link, socket.SHUT_RDWR)  # the TLS shutdown would change what is being read

    clock = threading.Timer(_time_left(until), cut)
    clock.daemon = True
    clock.start()
    try:
        yield
    except (OSError, ValueError, http.client.HTTPException) as error:
        if is_over.is_set():
            raise TimeoutError from error
        raise
    finally:
        clock.cancel()
        clock.join()
    if is_over.is_set():  # an answer without a length looks complete wherever it is cut
        raise TimeoutError


def _read(answer: http.client.HTTPResponse, max_bytes: int) -> HttpResponse:
    data = answer.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Outage(f"the answer is longer than {max_bytes / (1 << 20):g} MB", code=TOO_LARGE)
    if answer.length:
        raise http.client.IncompleteRead(data, answer.length)
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return HttpResponse(answer.status, answer.reason, data, headers)


def _time_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def addresses_of(parts: SplitResult, resolve: Resolve = resolve_host) -> list[str]:
    """Return the addresses of an address's host; raises `Outage` where it has none."""
    host = parts.hostname or ""
    try:
        return list(resolve(host, _port(parts)))
    except (OSError, UnicodeError) as error:
        hint = "check the network and the address"
        raise Outage(f"{host} cannot be found", code=UNREACHABLE, hint=hint, retryable=True) from error


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
