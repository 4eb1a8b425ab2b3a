"""Tacit behind the protocol of the scorer of real sessions: learns transcripts, answers through the real hook code.

`class Adapter` has `learn(sessions, cwd)`, `start`, `prompt`, `before` and `failure`. Everything that learning holds for review
is approved here, and all it asks for ticked, since no person sits in a benchmark. Each showing is what the hook would put
before the agent: the events go through the hook's own parser and handlers, only without a process for each. With
TACIT_RECORDED=FOLDER the sessions are read by a model whose answers lie in that folder (bench/reading.py).
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from _person import sign_in

import tacit
from tacit.config.location import HookEnvironment
from tacit.domain.errors import TacitError
from tacit.providers.opening import RecordedModel
from tacit.surfaces.hook.entry import answers
from tacit.surfaces.hook.event_handlers import respond
from tacit.surfaces.hook.events import find, parse


class Adapter:
    """A project with a store of its own, as long as the object lives."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-wild-")
        self._project = Path(self._folder.name) / "project"
        self._project.mkdir()
        self._store = self._project / ".tacit" / "tacit.db"
        self._store.parent.mkdir()
        self._session = ""
        sign_in(Path(self._folder.name) / "person")

    def learn(self, sessions: list[str], cwd: str) -> None:
        """Take in transcripts, learn from them, and approve what waits."""
        with tacit.open(self._store) as memory:
            for path in sessions:
                try:
                    memory.capture(tacit.read(path))
                except TacitError:
                    continue  # a client whose sessions cannot be read yet
            recorded = os.environ.get("TACIT_RECORDED")
            memory.learn(model=RecordedModel(Path(recorded)) if recorded else None)
            for stored in memory.reviews.waiting():
                ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
                memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked)
            memory.learn()  # as the hook's learner does at the end of every turn: the card follows the counts

    def start(self, session_file: str) -> str:
        """A session begins."""
        self._session = Path(session_file).stem.replace(".", "-")
        return self._shown("SessionStart", source="startup")

    def prompt(self, text: str) -> str:
        """The person asks."""
        return self._shown("UserPromptSubmit", prompt=text)

    def before(self, tool_name: str, tool_input: dict[str, Any]) -> str:
        """A tool is about to be called."""
        return self._shown("PreToolUse", tool_name=tool_name, tool_input=tool_input)

    def failure(self, tool_name: str, tool_input: dict[str, Any], output: str) -> str:
        """A call has failed."""
        return self._shown("PostToolUseFailure", tool_name=tool_name, tool_input=tool_input, error=output)

    def _shown(self, name: str, **fields: Any) -> str:
        event = parse(
            json.dumps(
                {"hook_event_name": name, "session_id": self._session, "cwd": str(self._project), **fields}
            ).encode("utf-8", "surrogatepass"),
            "claude-code",
        )
        context = find(event, HookEnvironment(), store=str(self._store))
        if context is None or not answers(event, context):
            return ""
        said: list[str] = []
        respond(event, context, say=said.append)
        return "".join(json.loads(text)["hookSpecificOutput"]["additionalContext"] for text in said)
