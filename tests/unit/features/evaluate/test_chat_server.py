"""A model behind a server: what is sent, with an adapter and without, and what becomes of servers that fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tacit.domain.errors import Mistake, ModelOutage
from tacit.features.evaluate.actors.model_agent import ChatServer
from tacit.features.evaluate.conversation import ChatMessage
from tests.raising import raises
from tests.unit.providers.loopback import answering, dripping, redirecting, saying, scripted

HELLO = [[ChatMessage("user", "hello")]]


def said(text: Any, **usage: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}).encode()


@contextmanager
def served(answer: Callable[[int], tuple[int, bytes]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives its n-th answer to the n-th question."""
    with answering(lambda asked: answer(len(asked))) as (place, asked):
        yield f"http://{place}/v1/", asked


def test_conversations_are_gone_on_with_in_their_order() -> None:
    with served(lambda number: (200, said("hi", prompt_tokens=12, completion_tokens=3))) as (url, asked):
        answers = ChatServer(url, key="k").complete([*HELLO, *HELLO], max_tokens=5)
    assert [(each.text, each.context_tokens, each.output_tokens) for each in answers] == [("hi", 12, 3)] * 2
    assert asked[0] == {
        "path": "/v1/chat/completions",
        "key": "Bearer k",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 5,
        "temperature": 0,
        "seed": 0,
        "lora": [],
    }


@pytest.mark.parametrize(
    ("adapter", "sent"),
    [
        ("", {"model": "small"}),
        ("mine", {"model": "mine"}),
        ("0", {"model": "small", "lora": [{"id": 0, "scale": 1.0}]}),
    ],
)
def test_an_adapter_is_another_model_or_a_number(adapter: str, sent: dict[str, Any]) -> None:
    with served(lambda number: (200, said("hi"))) as (url, asked):
        ChatServer(url, model="small").complete(HELLO, adapter=adapter)
    assert {name: asked[0][name] for name in ("model", "lora") if name in asked[0]} == sent


def test_tokens_are_estimated_where_the_server_does_not_tell_them() -> None:
    with served(lambda number: (200, said(None))) as (url, _):
        (answer,) = ChatServer(url).complete(HELLO)
    assert (answer.text, answer.context_tokens > 0, answer.output_tokens) == ("", True, 0)


def test_a_server_that_is_busy_is_asked_again() -> None:
    with served(lambda number: (503, b"") if number == 1 else (200, said("hi"))) as (url, asked):
        (answer,) = ChatServer(url).complete(HELLO)
    assert answer.text == "hi"
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("status", "body", "code", "shown"),
    [
        (401, b"no key", "refused_by_server", "401 Unauthorized: no key"),
        (200, b"<html>", "unreadable_answer", "<html>"),
        (200, b"[]", "unreadable_answer", "[]"),
        (200, b'{"choices": []}', "unreadable_answer", '{"choices": []}'),
        (200, said(7), "unreadable_answer", "content"),
        (200, b"x" * (17 << 20), "http_too_large", "16 MB"),
    ],
)
def test_a_server_that_answers_something_else_is_an_outage(status: int, body: bytes, code: str, shown: str) -> None:
    with served(lambda number: (status, body)) as (url, asked), raises(ModelOutage, code) as outage:
        ChatServer(url).complete(HELLO)
    assert shown in outage.value.message
    assert len(asked) == 1


@pytest.mark.parametrize("place", ["http://{other}/v1", "http://[::1", "http://a..b/"])
def test_the_key_goes_to_no_other_host(place: str) -> None:
    with (
        scripted(saying(b"")) as (other, elsewhere),
        scripted(redirecting(place.format(other=other))) as (here, heard),
        raises(ModelOutage, "redirected") as outage,
    ):
        ChatServer(f"http://{here}/v1", key="k").complete(HELLO)
    assert "307 Moved" in outage.value.message
    assert (len(heard), elsewhere) == (1, [])


def test_the_time_is_for_the_answer_and_not_for_every_byte_of_it() -> None:
    with scripted(dripping(b"HTTP/1.1 200 OK\r\n\r\n", then=said("hi"))) as (place, heard):
        with raises(ModelOutage, "http_timed_out") as outage:
            ChatServer(f"http://{place}", timeout_s=0.3).complete(HELLO)
        assert "0.3 seconds" in outage.value.message
        assert len(heard) == 1


def test_the_time_is_for_all_tries_together() -> None:
    with served(lambda number: (503, b"busy")) as (url, asked):
        with raises(ModelOutage, "refused_by_server") as outage:
            ChatServer(url, timeout_s=0.5).complete(HELLO)
        assert "503 Service Unavailable: busy" in outage.value.message
        assert len(asked) == 1


@pytest.mark.parametrize("count", ["abc", float("inf"), float("nan"), -1, True, 10**9, 10**400, [1], {"a": 1}, 1.5])
def test_tokens_that_cannot_be_true_are_estimated(count: Any) -> None:
    with served(lambda number: (200, said("hi", prompt_tokens=count, completion_tokens=count))) as (url, _):
        (answer,) = ChatServer(url).complete(HELLO)
    assert (answer.context_tokens, answer.output_tokens) == (2, 1)


@pytest.mark.parametrize("key", ["one\ntwo", "k\u00e4y"])
def test_a_key_that_no_request_can_carry_is_a_mistake_that_does_not_show_it(key: str) -> None:
    with raises(Mistake, "bad_key") as mistake:
        ChatServer("http://localhost/v1", key=key)
    assert key not in str(mistake.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8080",
        "file:///etc/passwd",
        "http://ann:secret@localhost/v1",
        "http://[::1",
        "http://localhost:port/v1",
    ],
)
def test_what_is_no_address_is_a_mistake(url: str) -> None:
    with pytest.raises(Mistake):
        ChatServer(url)
