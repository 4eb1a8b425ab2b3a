"""The parts of Codex's records that are read, as types to decode into. Unknown keys are passed over; no logic.

Field names are the client's own. Fields whose form varies between versions and tools are `Any` and looked at by the
one who uses them, so that a record is not lost for a detail.
"""

from __future__ import annotations

from typing import Any

import msgspec

NOTHING = msgspec.Raw(b"null")


class Record(msgspec.Struct):
    """One line: what sort of record it is, when it was written, and the rest unread."""

    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = NOTHING


class Git(msgspec.Struct):
    """The state of the repository when the session began."""

    branch: Any = None


class Meta(msgspec.Struct):
    """The first record: which thread this is, where it runs and whom it comes from."""

    id: Any = None
    session_id: Any = None
    parent_thread_id: Any = None
    forked_from_id: Any = None
    thread_source: Any = None
    source: Any = None
    history_mode: Any = None
    cwd: Any = None
    cli_version: Any = None
    git: Git | None = None


class Turn(msgspec.Struct):
    """The settings that a turn begins with."""

    turn_id: Any = None
    cwd: Any = None
    model: Any = None


class Item(msgspec.Struct):
    """What was said or done, once it is complete: a message of either side, a command, an edit, a call of a tool."""

    type: Any = None
    id: Any = None
    content: Any = None
    fragments: Any = None
    command: Any = None
    cwd: Any = None
    source: Any = None
    status: Any = None
    aggregated_output: Any = None
    exit_code: Any = None
    changes: Any = None
    stdout: Any = None
    stderr: Any = None
    server: Any = None
    tool: Any = None
    arguments: Any = None
    result: Any = None
    error: Any = None
    query: Any = None


class Event(msgspec.Struct):
    """Something that happened: a turn began, ended or was stopped, an item is complete."""

    type: Any = None
    turn_id: Any = None
    item: Item | None = None
    message: Any = None
    info: msgspec.Raw = NOTHING


class Noted(msgspec.Struct):
    """What the client notes about a message: of what kind each part of it is."""

    content_item_kinds: Any = None


class Response(msgspec.Struct):
    """A piece of the conversation as the model sees it."""

    type: Any = None
    role: Any = None
    author: Any = None
    content: Any = None
    name: Any = None
    namespace: Any = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    call_id: Any = None
    output: Any = None
    noted: Noted | None = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")


class Compacted(msgspec.Struct):
    """The summary that took the place of the history before it."""

    message: Any = None


class Spent(msgspec.Struct):
    """What one answer of the model cost."""

    response_id: Any = None
    usage: Any = None
