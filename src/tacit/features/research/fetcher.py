"""Fetches files from the public network: never from the local one, with redirects, and again where a server is busy."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

from tacit.domain.errors import Mistake, NotFound, Outage, Refusal
from tacit.providers.http import EXAMPLE, TOO_LARGE, HttpResponse, Resolve, addresses_of, check_url, resolve_host, send

NOT_PUBLIC = "http_not_public"
"""Code of the refusal to ask a machine of the local network."""
_BUSY = frozenset({429, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_MAX_WAIT_S = 30.0


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
        addresses = addresses_of(parts, self.resolve)
        inside = [each for each in addresses if not is_public(each)]
        if not addresses or (inside and origin(url) not in self.trusted):
            message = f"{parts.hostname} is a machine of the local network, which is never asked"
            raise Refusal(message, code=NOT_PUBLIC, hint="save the file and add that")
        return addresses

    def _get(self, parts: SplitResult, addresses: Sequence[str], *, left_s: float, max_bytes: int) -> HttpResponse:
        headers = {"Accept-Encoding": "identity", "Accept": "*/*"}
        try:
            return send("GET", parts, addresses, headers=headers, timeout_s=left_s, max_bytes=max_bytes)
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


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises where the port is not a number
    except ValueError as error:
        raise Mistake(f"{url!r} is not a web address: {error}", code="invalid_url", hint=EXAMPLE) from error
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
