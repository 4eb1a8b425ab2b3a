"""The scripted model itself: it answers in both languages, sees what a request tells, and keeps to loopback and bounds."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.loops.dialects import Call, Request, Turn
from tests.e2e.loops.model import MAX_BYTES, ScriptedModel

MESSAGES: dict[str, Any] = {
    "model": "m",
    "system": [{"type": "text", "text": "Be kind."}],
    "tools": [{"name": "Bash"}],
    "messages": [
        {"role": "user", "content": "Close May."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "own"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a result"}]},
        {"role": "system", "content": "from a hook"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "instructions": "Be kind.",
    "input": [
        {"type": "additional_tools", "role": "developer", "tools": [{"name": "exec"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Close May."}]},
        {"type": "custom_tool_call", "call_id": "t", "name": "exec", "input": "own"},
        {"type": "custom_tool_call_output", "call_id": "t", "output": "a result"},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "from a hook"}]},
    ],
}
DOCUMENTS = {"/v1/messages?beta=true": MESSAGES, "/v1/responses": RESPONSES}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def ask(model: ScriptedModel, path: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    request = urllib.request.Request(model.address + path, data=json.dumps(document).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_request_tells_everything_but_the_models_own_words(model: ScriptedModel, path: str) -> None:
    ask(model, path, DOCUMENTS[path])
    [request] = model.requests
    assert request.turn == 1
    for text in ("Be kind.", "Close May.", "a result", "from a hook"):
        assert text in request.told
    assert "own" not in request.told


@pytest.mark.parametrize("path", DOCUMENTS)
def test_script_decides_from_the_request(model: ScriptedModel, path: str) -> None:
    def script(request: Request) -> Turn:
        return Turn("Known.", Call("exec", "short")) if "from a hook" in request.told else Turn("Unknown.")

    model.script = script
    assert "short" in json.dumps(ask(model, path, DOCUMENTS[path]))
    untold = json.loads(json.dumps(DOCUMENTS[path]).replace("from a hook", ""))
    answer = json.dumps(ask(model, path, untold))
    assert "short" not in answer
    assert "Unknown." in answer


@pytest.mark.parametrize("path", DOCUMENTS)
def test_request_without_tools_takes_no_turn(model: ScriptedModel, path: str) -> None:
    bare = {"model": "m", "messages": [{"role": "user", "content": "A title, please."}], "input": []}
    assert "ok" in json.dumps(ask(model, path, bare))
    assert model.requests == []


def test_other_routes_and_oversized_requests_are_refused(model: ScriptedModel) -> None:
    assert model.address.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError):
        ask(model, "/v1/embeddings", MESSAGES)
    huge = urllib.request.Request(model.address + "/v1/messages", data=b"{}", method="POST")
    huge.add_unredirected_header("Content-Length", str(MAX_BYTES + 1))
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(huge, timeout=20)
    assert len(model.faults) == 2
