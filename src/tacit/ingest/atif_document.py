"""The parts of an ATIF document that are read, as types to decode into. Unknown keys are passed over; no logic."""

from __future__ import annotations

from typing import Any

import msgspec

_NOTHING = msgspec.Raw(b"")


class MessagePart(msgspec.Struct, gc=False):
    """A piece of a message: text, or something else that has no text."""

    type: str = "text"
    text: str | None = None


Message = str | list[MessagePart] | None


class _Metadata(msgspec.Struct, gc=False):
    is_error: Any = None


class Details(msgspec.Struct, gc=False):
    """What producers write under `extra` about how a call ended: ATIF has no field of its own for it."""

    is_error: Any = None
    tool_result_is_error: Any = None
    tool_result_metadata: _Metadata | None = None
    exit_code: Any = None

    @property
    def is_failure(self) -> bool:
        """Whether any of the known marks says so."""
        nested = self.tool_result_metadata
        return True in (self.is_error, self.tool_result_is_error, nested.is_error if nested else None)


_details = msgspec.json.Decoder(Details)
_NO_DETAILS = Details()


class _Extended(msgspec.Struct, gc=False):
    extra: msgspec.Raw = _NOTHING

    @property
    def has_extra(self) -> bool:
        """Whether there is anything under `extra`."""
        return self.extra is not _NOTHING

    def details(self) -> Details:
        """Read the marks in `extra`; an extra of some other form has none."""
        try:
            return _details.decode(self.extra)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _NO_DETAILS


class Call(msgspec.Struct, gc=False):
    """A tool call as the model made it."""

    function_name: str
    tool_call_id: str | None = None
    arguments: dict[str, Any] | str | None = None


class Result(_Extended, gc=False):
    """What came back, and from which call."""

    source_call_id: str | None = None
    content: Message = None


class Observation(msgspec.Struct, gc=False):
    """All that came back in one step."""

    results: list[Result] = []


class Metrics(msgspec.Struct, gc=False):
    """What one step cost."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    cached_tokens: Any = None
    cost_usd: Any = None


class FinalMetrics(msgspec.Struct, gc=False):
    """What the whole run cost."""

    total_prompt_tokens: Any = None
    total_completion_tokens: Any = None
    total_cached_tokens: Any = None
    total_cost_usd: Any = None


class Recorded(_Extended, gc=False):
    """One recorded step: a message, or an agent's turn with its calls and what came back."""

    source: str = ""
    message: Message = None
    timestamp: str | None = None
    tool_calls: list[Call] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None


class Agent(msgspec.Struct, gc=False):
    """Who ran."""

    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    tool_definitions: list[Any] | None = None


class Versioned(msgspec.Struct, gc=False):
    """Only the version, for a document whose form is not understood."""

    schema_version: Any = None


class Document(msgspec.Struct, gc=False):
    """One run."""

    steps: list[Recorded]
    schema_version: Any = None
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent | None = None
    final_metrics: FinalMetrics | None = None
    subagent_trajectories: list[msgspec.Raw] | None = None
    extra: Any = None
