"""Fetching keeps to its limits, asks a busy server again, and never reaches into the local network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.domain.errors import Mistake, NotFound, Outage, Refusal
from tacit.features.research.fetcher import NOT_PUBLIC, Fetcher, is_public, origin
from tacit.providers.http import MALFORMED, TOO_LARGE, UNREACHABLE
from tests.raising import raises
from tests.unit.features.research.services import Services, serving


@pytest.fixture
def services() -> Iterator[Services]:
    with serving() as opened:
        yield opened


BUSY = (429, {"Retry-After": "7"}, b"")


class Waits:
    """Notes how long one would have waited."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def fetcher(services: Services, waits: Waits | None = None, *, tries: int = 3, pause_s: float = 0.0) -> Fetcher:
    return Fetcher(trusted=(services.url,), sleep=waits or Waits(), tries=tries, pause_s=pause_s, timeout_s=5)


def test_an_answer_comes_with_its_sort(services: Services) -> None:
    services.says("/a", (200, {"Content-Type": "text/html; charset=utf-8"}, b"<p>"))
    fetched = fetcher(services).get(f"{services.url}/a?b=1", max_bytes=100)
    assert (fetched.data, fetched.media_type) == (b"<p>", "text/html")
    assert services.asked == ["/a?b=1"]


def test_a_busy_server_is_asked_again_after_the_time_it_names(services: Services) -> None:
    services.says("/a", BUSY, (503, {}, b""), (200, {}, b"now"))
    waits = Waits()
    assert fetcher(services, waits).get(f"{services.url}/a", max_bytes=100).data == b"now"
    assert [each for each in waits.slept if each] == [7.0, 4.0]


def test_nobody_waits_longer_than_half_a_minute(services: Services) -> None:
    services.says("/a", (429, {"Retry-After": "86400"}, b""), (200, {}, b"now"))
    waits = Waits()
    fetcher(services, waits).get(f"{services.url}/a", max_bytes=100)
    assert max(waits.slept) == 30.0


def test_a_server_that_stays_busy_is_an_outage(services: Services) -> None:
    services.says("/a", BUSY)
    with raises(Outage, "http_rate_limited") as outage:
        fetcher(services).get(f"{services.url}/a", max_bytes=100)
    assert outage.value.retryable
    assert len(services.asked) == 3


def test_questions_to_one_service_keep_apart(services: Services) -> None:
    services.says("/", (200, {}, b"x"))
    waits, clock = Waits(), iter([0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 2.0, 2.0])
    asking = Fetcher(trusted=(services.url,), sleep=waits, now=lambda: next(clock), pause_s=3.0)
    asking.get(f"{services.url}/a", max_bytes=9)
    asking.get(f"{services.url}/b", max_bytes=9)
    assert len(waits.slept) == 1
    assert 1.0 < waits.slept[0] <= 3.0


@pytest.mark.parametrize(("status", "error"), [(404, NotFound), (410, NotFound), (403, Outage), (500, Outage)])
def test_a_failure_is_told_by_its_sort(services: Services, status: int, error: type[Exception]) -> None:
    services.says("/a", (status, {}, b""))
    with pytest.raises(error):
        fetcher(services).get(f"{services.url}/a", max_bytes=100)
    assert len(services.asked) == 1


def test_an_answer_that_is_too_large_is_not_taken(services: Services) -> None:
    services.says("/a", (200, {}, bytes(3 << 20)))
    with raises(Refusal, TOO_LARGE):
        fetcher(services).get(f"{services.url}/a", max_bytes=1 << 20)


def test_an_answer_that_breaks_off_is_an_outage(services: Services) -> None:
    services.says("/a", (200, {"Content-Length": "100"}, b"half"))
    with raises(Outage, MALFORMED):
        fetcher(services).get(f"{services.url}/a", max_bytes=1000)


def test_a_redirect_is_followed_and_looked_at_like_the_first(services: Services) -> None:
    services.says("/a", (302, {"Location": "/b"}, b""))
    services.says("/b", (200, {}, b"there"))
    assert fetcher(services).get(f"{services.url}/a", max_bytes=9).url == f"{services.url}/b"
    services.says("/a", (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b""))
    with raises(Refusal, "not_https"):
        fetcher(services).get(f"{services.url}/a", max_bytes=9)
    services.says("/a", (302, {"Location": "https://169.254.169.254/latest/meta-data"}, b""))
    with raises(Refusal, NOT_PUBLIC):
        fetcher(services).get(f"{services.url}/a", max_bytes=9)


def test_redirects_without_end_are_given_up(services: Services) -> None:
    services.says("/a", (302, {"Location": "/a"}, b""))
    with raises(Outage, "redirect_loop"):
        fetcher(services).get(f"{services.url}/a", max_bytes=9)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.8", "192.168.1.1", "172.16.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "fd00::1", "0.0.0.0",
     "::ffff:127.0.0.1", "100.64.0.1"],
)  # fmt: skip
def test_a_name_that_leads_inside_is_not_asked(address: str) -> None:
    """Whatever its name says: one address inside among others is enough."""
    inside = Fetcher(resolve=lambda host, port: ["93.184.216.34", address], timeout_s=0.1)
    with raises(Refusal, NOT_PUBLIC):
        inside.get("https://papers.example.org/x.pdf", max_bytes=9)


@pytest.mark.parametrize("url", ["http://example.org/x", "https://example.org:8443/x", "ftp://example.org/x"])
def test_only_https_at_its_own_port_is_asked(url: str) -> None:
    with pytest.raises(Refusal):
        Fetcher(resolve=lambda host, port: pytest.fail("asked")).get(url, max_bytes=9)


@pytest.mark.parametrize("url", ["https:///x", "https://ann:secret@example.org/x", "https://[::1/x", "https://a:b/x"])
def test_what_is_no_address_is_a_mistake(url: str) -> None:
    with pytest.raises(Mistake):
        Fetcher().get(url, max_bytes=9)


def test_a_host_that_nobody_knows_is_an_outage() -> None:
    def nowhere(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with raises(Outage, UNREACHABLE):
        Fetcher(resolve=nowhere).get("https://nowhere.example/x", max_bytes=9)


def test_a_service_is_scheme_host_and_port() -> None:
    assert origin("HTTPS://Export.arXiv.org/api/query?x=1") == "https://export.arxiv.org"
    assert origin("http://127.0.0.1:80/") != origin("http://127.0.0.1/")


@pytest.mark.parametrize(
    "address",
    ["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "::127.0.0.1", "::ffff:0:7f00:1", "fec0::1",
     "224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255", "::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
     "5f00::1", "no address"],
)  # fmt: skip
def test_what_carries_an_address_inside_or_is_not_of_one_machine_is_not_asked(address: str) -> None:
    inside = Fetcher(resolve=lambda host, port: [address], timeout_s=0.1)
    with raises(Refusal, NOT_PUBLIC):
        inside.get("https://papers.example.org/x.pdf", max_bytes=9)


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "2606:2800:220:1:248:1893:25c8:1946",
        "64:ff9b::5db8:d822",
        "::ffff:93.184.216.34",
    ],
)
def test_machines_of_the_public_network_may_be_asked(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("said", ["\xb2", "-1", "1e9", "9" * 5000, "soon", " 7"])
def test_a_wait_that_is_no_number_is_our_own(services: Services, said: str) -> None:
    services.says("/a", (429, {"Retry-After": said}, b""), (200, {}, b"now"))
    waits = Waits()
    assert fetcher(services, waits).get(f"{services.url}/a", max_bytes=100).data == b"now"
    assert [each for each in waits.slept if each] in ([2.0], [7.0])


@pytest.mark.parametrize("place", ["https://[::1", "https://example.org:port/", "http://[::1]:x/"])
def test_a_redirect_to_what_is_no_address_is_an_outage(services: Services, place: str) -> None:
    services.says("/a", (302, {"Location": place}, b""))
    with raises(Outage, "invalid_redirect"):
        fetcher(services).get(f"{services.url}/a", max_bytes=9)
