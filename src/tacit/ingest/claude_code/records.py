"""The parts of Claude Code's records that are read, as types to decode into. Unknown keys are passed over; no logic.

Field names are the client's own. Fields whose form varies between versions and tools are `Any` and looked at by the
one who uses them, so that a record is not lost for a detail. All kinds of records are one type: to decode a line once,
whatever it holds, is what makes reading fast.
"""

# ruff: noqa: N815
from __future__ import annotations

from typing import Any

import msgspec

SHOWN_TO_THE_AGENT = frozenset({"file", "hook_additional_context", "hook_success", "mcp_resource", "queued_command"})
"""Attachments whose text can bear on what the agent did; lists of tools, dates and the like cannot."""


class Kind(msgspec.Struct):
    """Only the record's type."""

    type: Any = None


class Block(msgspec.Struct):
    """One content block: text, tool_use, tool_result, or some other that is passed over."""

    type: Any = None
    text: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    tool_use_id: Any = None
    content: Any = None
    is_error: Any = None


class Spent(msgspec.Struct):
    """Token counts of one model message."""

    input_tokens: Any = None
    output_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None


class Message(msgspec.Struct):
    """A message of either side; its usage is repeated in each of its records."""

    content: str | list[Block] = ""
    id: str | None = None
    model: str | None = None
    usage: Spent | None = None


class Author(msgspec.Struct):
    """Who made a prompt: a person, or a part of the client."""

    kind: Any = None


class Permission(msgspec.Struct):
    """What was decided about a call."""

    decision: Any = None


class Turn(msgspec.Struct):
    """Which prompt of the session this is."""

    turnIndex: Any = None


class Structured(msgspec.Struct):
    """What the client notes about a result beside its text."""

    type: Any = None
    interrupted: Any = None
    backgroundTaskId: Any = None
    returnCodeInterpretation: Any = None
    persistedOutputPath: Any = None
    structuredPatch: Any = None


class Rendered(msgspec.Struct):
    """An attachment as it was sent to the model."""

    content: Any = None


class Attachment(msgspec.Struct):
    """Something the client put into the conversation by itself, or a prompt typed while the agent worked."""

    type: Any = None
    content: Any = None
    prompt: Any = None
    commandMode: Any = None
    origin: Author | None = None
    isMeta: bool | None = None


class Record(msgspec.Struct):
    """A record of a conversation: a user's, an assistant's, or an attachment."""

    type: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    agentId: str | None = None
    promptId: str | None = None
    turnPosition: Turn | None = None
    permissionMode: str | None = None
    isSidechain: bool | None = None
    timestamp: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    message: Message = msgspec.field(default_factory=Message)
    origin: Author | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    isApiErrorMessage: bool | None = None
    toolUseResult: Structured | str | float | bool | list[Any] | None = None
    toolDenialKind: str | None = None
    holdsPersonsWords: bool | None = None
    permissionDecision: Permission | None = None
    attributionSkill: str | None = None
    attachment: Attachment | None = None
    rendered: list[Rendered] | None = None
