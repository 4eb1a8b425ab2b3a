"""A body is posted to one host and to no other, and its answer is read within one limit of time and one of size."""

from __future__ import annotations

import threading

import pytest

from tacit.domain.errors import Mistake, Outage
from tacit.providers.http import MALFORMED, TIMED_OUT, TOO_LARGE, UNREACHABLE, HttpResponse, post
from tests.raising import raises
from tests.unit.providers.loopback import Script, dripping, redirecting, saying, scripted

OK = b"HTTP/1.1 200 OK\r\n"


def posted(url: str, *, timeout_s: float = 10, max_bytes: int = 100) -> HttpResponse:
    return post(url, b"{}", headers={"Authorization": "Bearer k"}, timeout_s=timeout_s, max_bytes=max_bytes)


def test_an_answer_is_read_whole() -> None:
    with scripted(saying(OK + b"Content-Length: 2\r\n\r\nhi")) as (place, heard):
        assert posted(f"http://{place}/v1?a=b") == HttpResponse(200, "OK", b"hi")
    assert heard[0].startswith(b"POST /v1?a=b HTTP/1.1\r\n")
    assert b"Authorization: Bearer k" in heard[0]


def test_an_answer_in_chunks_and_one_without_a_length_are_read_whole() -> None:
    with scripted(saying(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n")) as (place, _):
        assert posted(f"http://{place}").data == b"hi"
    with scripted(saying(OK + b"\r\nhi")) as (place, _):
        assert posted(f"http://{place}").data == b"hi"


@pytest.mark.parametrize("place", ["http://{other}/", "http://[::1", "http://a..b/", "//{other}", "file:///etc/passwd"])
def test_a_redirect_is_an_answer_and_nobody_else_is_asked(place: str) -> None:
    with (
        scripted(saying(OK + b"\r\n")) as (other, elsewhere),
        scripted(redirecting(place.format(other=other))) as (here, heard),
    ):
        answer = posted(f"http://{here}/")
    assert (answer.status, answer.is_redirect, answer.is_success) == (307, True, False)
    assert (len(heard), elsewhere) == (1, [])


def test_the_settings_of_a_proxy_hand_nothing_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(saying(OK + b"\r\n")) as (proxy, passed), scripted(saying(OK + b"\r\nhi")) as (here, _):
        monkeypatch.setenv("http_proxy", f"http://{proxy}")
        assert posted(f"http://{here}/").data == b"hi"
    assert passed == []


@pytest.mark.parametrize(
    "script",
    [
        dripping(b"", then=b""),
        dripping(OK + b"X-Slow: "),
        dripping(OK + b"Content-Length: 400\r\n\r\n"),
        dripping(OK + b"\r\n"),
        dripping(OK + b"Connection: close\r\nContent-Length: 400\r\n\r\n"),
        dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n190\r\n", then=b"\r\n0\r\n\r\n"),
        lambda link, over: over.wait(20),
    ],
    ids=["status", "header", "body", "no length", "farewell", "chunk", "silence"],
)
def test_the_time_is_for_the_whole_answer_however_slowly_it_comes(script: Script) -> None:
    with scripted(script) as (place, _), raises(Outage, TIMED_OUT):
        posted(f"http://{place}/", timeout_s=0.4, max_bytes=10_000)


def test_the_time_is_for_greetings_too() -> None:
    with scripted(dripping(b"\x16\x03\x03\x40\x00")) as (place, _), raises(Outage, TIMED_OUT):
        posted(f"https://{place}/", timeout_s=0.4)


def test_no_thread_is_left_over() -> None:
    with scripted(saying(OK + b"\r\nhi")) as (place, _):
        posted(f"http://{place}/")
    with scripted(dripping(OK)) as (place, _), raises(Outage, TIMED_OUT):
        posted(f"http://{place}/", timeout_s=0.2)
    assert not [each for each in threading.enumerate() if isinstance(each, threading.Timer)]


@pytest.mark.parametrize("head", [b"Content-Length: 101\r\n\r\n", b"\r\n"])
def test_an_answer_that_is_too_long_is_not_read_to_its_end(head: bytes) -> None:
    with scripted(saying(OK + head + b"x" * 101)) as (place, _), raises(Outage, TOO_LARGE):
        posted(f"http://{place}/")
    with scripted(saying(OK + head + b"x" * 101)) as (place, _):
        assert len(posted(f"http://{place}/", max_bytes=101).data) == 101


@pytest.mark.parametrize(
    "data",
    [b"", b"hello\r\n\r\n", OK + b"Content-Length: 5\r\n\r\nhi", OK + b"A: " + b"x" * 70_000,
     OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 abc\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_whole_answer_is_told(data: bytes) -> None:
    with scripted(saying(data)) as (place, _), raises(Outage, MALFORMED):
        posted(f"http://{place}/")


def test_a_server_that_speaks_no_tls_is_told() -> None:
    with scripted(saying(b"hello")) as (place, _), raises(Outage, MALFORMED):
        posted(f"https://{place}/")


def test_a_server_that_is_not_there_is_told() -> None:
    with scripted(saying(b"")) as (place, _):
        pass
    with raises(Outage, UNREACHABLE) as outage:
        posted(f"http://{place}/")
    assert outage.value.retryable


@pytest.mark.parametrize(
    "url",
    ["", "localhost:80", "ftp://localhost/", "http://", "http://[::1", "http://a..b/", "http://localhost:99999/",
     "http://localhost:0/", "http://localhost/a b", "http://localhost/\u00e4", "http://localhost/\n"],
)  # fmt: skip
def test_what_is_no_address_is_a_mistake(url: str) -> None:
    with pytest.raises(Mistake):
        posted(url)


def test_a_header_that_cannot_be_sent_is_told_without_its_words() -> None:
    with scripted(saying(OK + b"\r\n")) as (place, _), pytest.raises(Outage) as told:
        post(f"http://{place}/", b"", headers={"Authorization": "secret\nword"}, timeout_s=5, max_bytes=9)
    assert "secret" not in str(told.value)
