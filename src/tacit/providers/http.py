"""The HTTP client: one request within one limit of time and one of size, and a fetcher that never asks the local network.

A request goes to the host that the caller names: no proxy is used, and no redirect is followed, since a request may carry a
key. The time limit covers everything from connecting to the last byte. Only `Fetcher` follows redirects and tries again.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

from tacit.domain.errors import Mistake, NotFound, Outage, Refusal

UNREACHABLE = "http_unreachable"
"""Code of the error when no address of the host accepts a connection."""
TIMED_OUT = "http_timed_out"
MALFORMED = "http_malformed"
"""Code of the error when the connection breaks off, or the answer is no complete HTTP answer."""
TOO_LARGE = "http_too_large"
NOT_PUBLIC = "http_not_public"
"""Code of the refusal to ask a machine of the local network."""
_USER_AGENT = "tacit"
_BUSY = frozenset({429, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_MAX_WAIT_S = 30.0
_EXAMPLE = "write https://host/path"

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


def check_url(url: str, *, example: str = _EXAMPLE) -> SplitResult:
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
    until = time.monotonic() + timeout_s
    with _described_timeout(timeout_s):
        addresses = _resolve(parts, resolve_host)
        return _exchange("POST", parts, addresses, body=body, headers=headers, until=until, max_bytes=max_bytes)


def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system knows them."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


# --- fetching from the public network -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A file that was fetched."""

    data: bytes
    media_type: str
    url: str
    """The last address, after all redirects."""


@dataclass(kw_only=True)
class Fetcher:
    """Fetches `https:` addresses of the public network, follows redirects, and asks a busy server again.

    Every name is resolved here and the connection goes to the address that was checked, so that no name can lead into the
    local network. Services in `trusted` are exempt: the user's own settings name them.
    """

    trusted: Collection[str] = ()
    """Services (`https://host:port`) that may be anywhere and need no https."""
    timeout_s: float = 120.0
    """For one request with all its redirects."""
    tries: int = 3
    pause_s: float = 3.0
    """Between two requests to one trusted service: arXiv asks for three seconds."""
    resolve: Resolve = resolve_host
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    _last_request: dict[str, float] = field(default_factory=dict)

    def get(self, url: str, *, max_bytes: int) -> Fetched:
        """Fetch an address; raises `NotFound` for 404, `Refusal` for what must not be asked, and else `Outage`."""
        for attempt in range(1, self.tries + 1):
            response, last_url = self._follow(url, max_bytes)
            if response.status == http.client.OK:
                media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                return Fetched(data=response.data, media_type=media_type, url=last_url)
            if response.status not in _BUSY or attempt == self.tries:
                raise _status_error(last_url, response.status)
            self.sleep(min(_MAX_WAIT_S, _retry_after(response, otherwise=2.0**attempt)))
        raise AssertionError("unreachable")

    def _follow(self, url: str, max_bytes: int) -> tuple[HttpResponse, str]:
        begun = self.now()
        for _ in range(_MAX_REDIRECTS + 1):
            parts = self._permitted(url)
            addresses = self._public_addresses(parts, url)
            self._wait_for_turn(origin(url))
            response = self._get(parts, addresses, left_s=begun + self.timeout_s - self.now(), max_bytes=max_bytes)
            location = response.headers.get("location", "")
            if response.status not in _REDIRECTS or not location:
                return response, url
            url = _redirect_target(url, location)
        raise Outage(f"{_host(url)} redirects without end", code="redirect_loop", hint="open the address in a browser")

    def _permitted(self, url: str) -> SplitResult:
        """Return the parts of an address that may be asked."""
        parts = _split(url)
        if origin(url) not in self.trusted:
            hint = "save the file and add that"
            if parts.scheme != "https":
                raise Refusal(f"only https addresses are fetched, not {url!r}", code="not_https", hint=hint)
            if parts.port not in (None, 443):
                raise Refusal(f"{parts.hostname} is asked at port 443 only", code="unusual_port", hint=hint)
        return check_url(url)

    def _public_addresses(self, parts: SplitResult, url: str) -> list[str]:
        addresses = _resolve(parts, self.resolve)
        inside = [each for each in addresses if not is_public(each)]
        if not addresses or (inside and origin(url) not in self.trusted):
            message = f"{parts.hostname} is a machine of the local network, which is never asked"
            raise Refusal(message, code=NOT_PUBLIC, hint="save the file and add that")
        return addresses

    def _get(self, parts: SplitResult, addresses: Sequence[str], *, left_s: float, max_bytes: int) -> HttpResponse:
        headers = {"Accept-Encoding": "identity", "Accept": "*/*"}
        until = time.monotonic() + left_s
        try:
            with _described_timeout(self.timeout_s):
                return _exchange("GET", parts, addresses, headers=headers, until=until, max_bytes=max_bytes)
        except Outage as error:
            if error.code == TOO_LARGE:
                message = f"{parts.hostname} sends more than {max_bytes >> 20} MB"
                raise Refusal(message, code=TOO_LARGE, hint="save it and add a part") from error
            raise

    def _wait_for_turn(self, service: str) -> None:
        if service in self.trusted and service in self._last_request:
            self.sleep(max(0.0, self._last_request[service] + self.pause_s - self.now()))
        self._last_request[service] = self.now()


def origin(url: str) -> str:
    """Return scheme, host and port of an address."""
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


_UNICAST = IPv6Network("2000::/3")
"""All that is assigned to the public network."""
_TUNNELS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"))
"""6to4 and Teredo; versions of the standard library differ on whether they are global."""
_CARRIERS = (
    IPv6Network("64:ff9b::/96"),  # NAT64
    IPv6Network("::/96"),  # IPv4-compatible addresses, deprecated
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated addresses
)
"""Networks whose last 32 bits are an IPv4 address, which is the machine that is reached."""


def is_public(text: str) -> bool:
    """Return whether an address is a single machine of the public network; so must be each IPv4 address inside it."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_global_unicast(address)
    embedded = list(_embedded_ipv4(address))
    if embedded and not all(map(_is_global_unicast, embedded)):
        return False
    if address.ipv4_mapped is not None or address in _CARRIERS[0]:
        return True
    is_tunnel = any(address in network for network in _TUNNELS)
    return address in _UNICAST and not is_tunnel and _is_global_unicast(address)


def _is_global_unicast(address: IPv4Address | IPv6Address) -> bool:
    special = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_loopback
    return address.is_global and not special and not address.is_private and not address.is_link_local


def _embedded_ipv4(address: IPv6Address) -> Iterator[IPv4Address]:
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if any(address in network for network in _CARRIERS):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


# --- one request --------------------------------------------------------------------------------------------------


def _exchange(
    method: str,
    parts: SplitResult,
    addresses: Sequence[str],
    *,
    headers: Mapping[str, str],
    until: float,
    max_bytes: int,
    body: bytes | None = None,
) -> HttpResponse:
    """Send one request to the first address that accepts a connection; raises `TimeoutError` at the deadline."""
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
    except TimeoutError:
        raise
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


@contextlib.contextmanager
def _described_timeout(timeout_s: float) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        message = f"no complete answer within {timeout_s:g} seconds"
        raise Outage(message, code=TIMED_OUT, hint="try again later", retryable=True) from error


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


def _resolve(parts: SplitResult, resolve: Resolve) -> list[str]:
    host = parts.hostname or ""
    try:
        return list(resolve(host, _port(parts)))
    except (OSError, UnicodeError) as error:
        hint = "check the network and the address"
        raise Outage(f"{host} cannot be found", code=UNREACHABLE, hint=hint, retryable=True) from error


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises where the port is not a number
    except ValueError as error:
        raise Mistake(f"{url!r} is not a web address: {error}", code="invalid_url", hint=_EXAMPLE) from error
    return parts


def _redirect_target(url: str, location: str) -> str:
    try:
        return _split(urljoin(url, location)).geturl()
    except (ValueError, Mistake) as error:
        message = f"{_host(url)} redirects to an invalid address: {error}"
        raise Outage(message, code="invalid_redirect", hint="open the address in a browser") from error


def _host(url: str) -> str:
    return _split(url).hostname or url


def _retry_after(response: HttpResponse, *, otherwise: float) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 12 else otherwise


def _status_error(url: str, status: int) -> NotFound | Outage:
    host = _host(url)
    if status in (404, 410):
        return NotFound(f"{host} has no such file", hint="check the identifier or the address")
    if status == 429:
        message = f"{host} limits the number of requests (HTTP 429)"
        return Outage(message, code="http_rate_limited", hint="try again in some minutes", retryable=True)
    if status in (401, 403):
        message = f"{host} does not give it to programs (HTTP {status})"
        return Outage(message, code="http_forbidden", hint="save the file and add that")
    message = f"{host} answered with HTTP status {status}"
    return Outage(message, code="http_status", hint="try again later", retryable=status >= 500)
