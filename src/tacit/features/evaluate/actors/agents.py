"""Opens an agent by its name: `reference`, `model:…`, `chat:http://…`, `command:…`, `python:…` or an address."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.actors.model_agent import ChatServer, ModelActor
from tacit.features.evaluate.actors.stepping import MAX_CALLS
from tacit.features.evaluate.suite import Actor

if TYPE_CHECKING:
    from tacit.api import Tacit

AGENTS = {
    "reference": "the reference agent: acts by skills alone, without a model; useful in telecom only",
    "model:NAME": "a model on this machine: a folder, a GGUF file or a hub id (extra train)",
    "chat:URL[#MODEL]": "a model behind a server with OpenAI's protocol (llama.cpp, vLLM)",
    "command:WORDS": "a program that reads questions and writes decisions as lines of JSON",
    "python:FILE.py:NAME": "a function that gets a question and returns a decision, both as mappings",
    "http://…": "a server that gets questions by POST and answers with decisions",
}
"""How agents are named → what they are."""
WITH_ADAPTER = "yes"
"""The value of `adapter` for an agent with an adapter of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorOptions:
    """Options of an agent."""

    adapter: str = ""
    """A folder (`model:`), a number or name (`chat:`), or `yes` for an agent with its own."""
    max_calls: int = MAX_CALLS
    timeout_s: float = 60.0
    key: str = ""
    """The key for the server of `chat:`."""


def open_actor(name: str, *, memory: Tacit | None = None, options: ActorOptions | None = None) -> Actor:
    """Return the agent of this name."""
    options = options or ActorOptions()
    kind, _, rest = name.partition(":")
    if name == "reference":
        from tacit.features.evaluate.actors.reference import ReferenceActor

        return ReferenceActor(memory, max_calls=options.max_calls)
    if kind in ("http", "https", "command", "python"):
        return _external(kind, name, rest, options)
    if kind == "chat" and rest:
        url, _, model = rest.partition("#")
        server = ChatServer(url, model=model, key=options.key, timeout_s=options.timeout_s)
        return ModelActor(server, name=name, adapter=options.adapter, max_calls=options.max_calls)
    if kind == "model" and rest:
        return _local(name, rest, options)
    raise Mistake(f"unknown agent {name!r}", code="unknown_agent", hint=f"agents are named {', '.join(AGENTS)}")


def _external(kind: str, name: str, rest: str, options: ActorOptions) -> Actor:
    from tacit.features.evaluate.actors import external

    if options.adapter not in ("", WITH_ADAPTER):
        message = f"this agent cannot select an adapter, so --adapter {options.adapter} has no meaning"
        hint = "pass --adapter yes if the agent uses the question's `adapter`"
        raise Mistake(message, code="adapter_not_selectable", hint=hint)
    own, max_calls = bool(options.adapter), options.max_calls
    if kind == "command":
        return external.CommandActor(rest, adapter=own, timeout_s=options.timeout_s, max_calls=max_calls)
    if kind == "python":
        answer = external.load_function(rest)
        files = external.files_of_function(rest)
        return external.PythonActor(answer, name=name, adapter=own, max_calls=max_calls, files=files)
    return external.HttpActor(name, adapter=own, timeout_s=options.timeout_s, max_calls=max_calls)


def _local(name: str, model: str, options: ActorOptions) -> ModelActor:
    from tacit.features.evaluate.local_model import LocalModel

    folder = Path(options.adapter)
    if options.adapter and not folder.is_dir():
        hint = "give its folder; `tacit adapters export` writes one"
        raise NotFound(f"no adapter at {options.adapter}", code="no_adapter", hint=hint)
    adapters = {options.adapter: folder} if options.adapter else {}
    completer = LocalModel(model, adapters)
    return ModelActor(completer, name=name, adapter=options.adapter, max_calls=options.max_calls)
