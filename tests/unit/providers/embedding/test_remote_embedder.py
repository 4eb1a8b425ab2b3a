"""A remote embedder over real HTTP: what goes out, what comes back, and every way in which a server can fail."""

from __future__ import annotations

import json
import math
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tacit.domain.errors import ConfigError, ModelOutage
from tacit.providers.embedding.embedder_choice import HashedEmbedder
from tacit.providers.embedding.remote_embedder import RemoteEmbedder
from tacit.providers.embedding.sentence import SentenceEncoder
from tacit.providers.embedding.static import StaticEmbedder
from tests.raising import raises

Reply = Callable[[dict[str, Any]], tuple[int, bytes]]


def vectors(texts: list[str], *, dimensions: int = 3) -> list[dict[str, Any]]:
    return [
        {"object": "embedding", "index": place, "embedding": [float(len(text)), 2.0, *[0.5] * (dimensions - 2)]}
        for place, text in enumerate(texts)
    ]


def good(request: dict[str, Any]) -> tuple[int, bytes]:
    return document(vectors(request["input"]))


def document(data: Any) -> tuple[int, bytes]:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, json.dumps({"object": "list", "model": "m", "data": data, "usage": usage}).encode()


class Server:
    def __init__(self, reply: Reply, headers: dict[str, str]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                script.requests.append({"path": self.path, **request})
                script.keys.append(self.headers["Authorization"])
                status, body = reply(request)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("retry-after-ms", "1")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True


@contextmanager
def asked(
    reply: Reply = good,
    *,
    model: str = "some-embedder",
    timeout_s: float = 20.0,
    headers: dict[str, str] | None = None,
) -> Iterator[tuple[RemoteEmbedder, Server]]:
    server = Server(reply, headers or {})
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    address = f"http://127.0.0.1:{server.http.server_address[1]}/v1"
    embedder = RemoteEmbedder(model, base_url=address, key="its-own-key", timeout_s=timeout_s)
    try:
        yield embedder, server
    finally:
        embedder.close()
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def identity(address: str) -> str:
    embedder = RemoteEmbedder("m", base_url=address, key="k")
    embedder.close()
    return embedder.identity


def test_only_what_asks_a_server_is_remote():
    assert RemoteEmbedder.remote
    assert not any(kind.remote for kind in (HashedEmbedder, StaticEmbedder, SentenceEncoder))


def test_texts_become_vectors_of_length_one_in_their_order():
    with asked() as (embedder, server):
        found = [struct.unpack("<3f", vector) for vector in embedder.embed(["ab", "abcd"])]
        assert embedder.dimensions == 3
    assert [math.hypot(*vector) for vector in found] == pytest.approx([1, 1])
    assert [vector[0] / vector[1] for vector in found] == pytest.approx([1, 2])
    assert server.keys == ["Bearer its-own-key"]
    assert server.requests[0]["path"] == "/v1/embeddings"
    assert server.requests[0]["model"] == "some-embedder"


def test_vectors_are_put_in_order_by_their_index():
    with asked(lambda request: document(vectors(request["input"])[::-1])) as (embedder, _):
        first, second = (struct.unpack("<3f", vector) for vector in embedder.embed(["a", "abcd"]))
    assert first[0] / first[1] < second[0] / second[1]


def test_many_texts_go_out_in_batches_and_long_ones_are_cut():
    texts = [f"{'word ' * (place % 50)}{place}" for place in range(150)] + ["é" * 100_000]
    with asked() as (embedder, server):
        assert len(embedder.embed(texts)) == 151
    assert len(server.requests) > 2
    assert sum(len(request["input"]) for request in server.requests) == 151
    assert max(len(text.encode()) for request in server.requests for text in request["input"]) <= 8000


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\0", "日本語"])
def test_any_text_goes_out_as_valid_text_that_is_not_empty(text):
    with asked() as (embedder, server):
        assert len(embedder.embed([text])) == 1
    assert server.requests[0]["input"][0].strip()


def test_secrets_do_not_leave_the_machine():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with asked() as (embedder, server):
        embedder.embed([f"push with GITHUB_TOKEN={token} to the fork"])
    assert token not in json.dumps(server.requests)
    assert "to the fork" in server.requests[0]["input"][0]


def test_identity_names_the_model_and_a_server_of_ones_own():
    with asked() as (embedder, server):
        assert embedder.identity.startswith(f"openai:some-embedder@127.0.0.1:{server.http.server_address[1]}#")
        assert server.requests == []
    own = RemoteEmbedder("text-embedding-3-small", base_url="https://api.openai.com/v1", key="k")
    assert (own.identity, own.dimensions) == ("openai:text-embedding-3-small", 1536)
    own.close()


def test_identity_tells_addresses_apart_and_holds_no_password():
    addresses = ["http://h/v1", "https://h/v1", "https://h/v2", "https://h:81/v1", "http://api.openai.com/v1"]
    found = [identity(address) for address in addresses]
    assert len(set(found)) == len(addresses)
    assert identity("https://ann:s3cret@h/v1") == identity("https://h/v1/") == found[1]
    assert "s3cret" not in identity("https://ann:s3cret@h/v1")


@pytest.mark.parametrize("address", ["nonsense", "http://h:port/v1", "ftp://h/v1", "http://[h/v1"])
def test_an_address_that_cannot_be_read_is_a_mistake(address):
    with raises(ConfigError, "bad_address"):
        RemoteEmbedder("m", base_url=address, key="k")


def test_a_redirect_is_not_followed():
    with asked() as (_, other):
        port = other.http.server_address[1]
        moved = {"Location": f"http://127.0.0.1:{port}/v1/embeddings"}
        with (
            asked(lambda _: (307, b""), headers=moved) as (embedder, _),
            raises(ModelOutage, "http_status"),
        ):
            embedder.embed(["a"])
        assert other.requests == []


@pytest.mark.parametrize(("status", "hint"), [(401, "key"), (404, "status page"), (500, "status page")])
def test_a_status_that_is_an_error_is_an_outage(status, hint):
    with (
        asked(lambda _: (status, b'{"error": {"message": "no"}}')) as (embedder, _),
        pytest.raises(ModelOutage) as raised,
    ):
        embedder.embed(["a"])
    assert str(status) in raised.value.message
    assert hint in raised.value.hint


def test_a_busy_server_is_asked_again():
    answers = iter([(503, b"{}"), (503, b"{}")])
    with asked(lambda request: next(answers, None) or good(request)) as (embedder, server):
        assert len(embedder.embed(["a"])) == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "reply",
    [
        lambda request: document(vectors(request["input"])[:-1]),
        lambda request: document(vectors([*request["input"], "more"])),
        lambda request: document([{**entry, "index": 0} for entry in vectors(request["input"])]),
        lambda request: document([{**entry, "embedding": []} for entry in vectors(request["input"])]),
        lambda request: document([{**entry, "embedding": [0.0, 0.0, 0.0]} for entry in vectors(request["input"])]),
        lambda request: document([{**entry, "embedding": [math.nan] * 3} for entry in vectors(request["input"])]),
        lambda request: document([{**entry, "embedding": ["1", "2", "3"]} for entry in vectors(request["input"])]),
        lambda request: document([{**entry, "embedding": None} for entry in vectors(request["input"])]),
        lambda request: document(
            [{**entry, "embedding": [1.0] * (2 + entry["index"])} for entry in vectors(request["input"])]
        ),
        lambda request: document([{**entry, "embedding": [10**400] * 3} for entry in vectors(request["input"])]),
        lambda request: (200, b'{"data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        lambda request: document(None),
        lambda request: document(["x", "y"]),
        lambda request: (200, b"not json"),
        lambda request: (200, b"[]"),
        lambda request: (200, b""),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_an_outage(reply):
    with asked(reply) as (embedder, _), pytest.raises(ModelOutage):
        embedder.embed(["a", "b"])


def test_vectors_of_another_size_than_before_are_an_outage():
    sizes = iter([3, 4])
    with asked(lambda request: document(vectors(request["input"], dimensions=next(sizes)))) as (embedder, _):
        embedder.embed(["a"])
        with raises(ModelOutage, "wrong_dimensions"):
            embedder.embed(["a"])


def test_a_known_model_must_have_its_known_size():
    with asked(model="text-embedding-3-small") as (embedder, _), raises(ModelOutage, "wrong_dimensions"):
        embedder.embed(["a"])


def test_a_server_that_is_not_there_is_an_outage_with_a_hint():
    embedder = RemoteEmbedder("m", base_url="http://127.0.0.1:9/v1", key="k")
    with raises(ModelOutage, "unreachable") as raised:
        embedder.embed(["a"])
    assert raised.value.hint
    assert raised.value.retryable
    embedder.close()


def test_a_server_that_does_not_answer_is_not_waited_for():
    hold = threading.Event()
    with asked(lambda request: (hold.wait(20), good(request))[1], timeout_s=0.2) as (embedder, _):
        with raises(ModelOutage, "timed_out"):
            embedder.embed(["a"])
        hold.set()


def test_no_key_is_told_with_its_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError) as raised:
        RemoteEmbedder("text-embedding-3-small")
    assert "OPENAI_API_KEY" in raised.value.hint
