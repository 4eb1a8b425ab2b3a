"""An agent by its name: `reference`, `model:…`, `chat:http://…`, `command:…`, `python:…` or an address → an actor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.actors.lockstep import MAX_CALLS
from tacit.features.evaluate.actors.model import ModelActor
from tacit.features.evaluate.suite import Actor

if TYPE_CHECKING:
    from tacit.api import Loop

AGENTS = {
    "reference": "the reference agent: acts by skills alone, without a model; of use in telecom, elsewhere it abstains",
    "model:NAME": "a model on this machine: a folder, a GGUF file or a hub id (extra train)",
    "chat:URL[#MODEL]": "a model behind a server that speaks OpenAI's protocol (llama.cpp, vLLM)",
    "command:WORDS": "a program: a line of JSON in for each question, a line out for each decision",
    "python:FILE.py:NAME": "a function: a question as a mapping in, a decision as a mapping out",
    "http://…": "a server: a question is posted, the decision comes back",
}
"""How agents are named → what they are."""
WITH_ADAPTER = "yes"
"""What `adapter` says of an agent that brings an adapter of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which conditions an agent acts."""

    adapter: str = ""
    """A folder (`model:`), a number or name (`chat:`), or `yes` for an agent that brings its own."""
    max_calls: int = MAX_CALLS
    timeout_s: float = 60.0
    key: str = ""
    """For the server of `chat:`."""


def open_actor(name: str, *, memory: Loop | None = None, terms: Terms | None = None) -> Actor:
    """The agent of this name."""
    terms = terms or Terms()
    kind, _, rest = name.partition(":")
    if name == "reference":
        from tacit.features.evaluate.actors.reference import ReferenceActor

        return ReferenceActor(memory, max_calls=terms.max_calls)
    if kind in ("http", "https"):
        from tacit.features.evaluate.actors.http import HttpActor

        return HttpActor(name, adapter=_own(terms), timeout_s=terms.timeout_s, max_calls=terms.max_calls)
    if kind == "command":
        from tacit.features.evaluate.actors.command import CommandActor

        return CommandActor(rest, adapter=_own(terms), timeout_s=terms.timeout_s, max_calls=terms.max_calls)
    if kind == "python":
        return _function(rest, terms)
    if kind == "chat" and rest:
        return _chat(rest, terms)
    if kind == "model" and rest:
        return _local(rest, terms)
    raise Mistake(f"no agent is called {name!r}", hint=f"agents are named {', '.join(AGENTS)}")


def _function(place: str, terms: Terms) -> Actor:
    from tacit.features.evaluate.actors.code import files_of_function
    from tacit.features.evaluate.actors.python import PythonActor, load_function

    own, answer = _own(terms), load_function(place)
    files = files_of_function(place)
    return PythonActor(answer, name=f"python:{place}", adapter=own, max_calls=terms.max_calls, files=files)


def _own(terms: Terms) -> bool:
    if terms.adapter not in ("", WITH_ADAPTER):
        raise Mistake(
            f"this agent is not told which adapter to use, so {terms.adapter!r} says nothing",
            hint="--adapter yes says that it heeds the question's `adapter`",
        )
    return bool(terms.adapter)


def _chat(address: str, terms: Terms) -> ModelActor:
    from tacit.providers.chat_server import ChatServer

    url, _, model = address.partition("#")
    server = ChatServer(url, model=model, key=terms.key, timeout_s=terms.timeout_s)
    return ModelActor(server, name=f"chat:{address}", adapter=terms.adapter, max_calls=terms.max_calls)


def _local(model: str, terms: Terms) -> ModelActor:
    from tacit.features.train.generating import LocalModel

    folder = Path(terms.adapter)
    if terms.adapter and not folder.is_dir():
        raise NotFound(f"no adapter at {terms.adapter}", hint="give its folder; `tacit adapters export` writes one")
    adapters = {terms.adapter: folder} if terms.adapter else {}
    completer = LocalModel(model, adapters)
    return ModelActor(completer, name=f"model:{model}", adapter=terms.adapter, max_calls=terms.max_calls)
