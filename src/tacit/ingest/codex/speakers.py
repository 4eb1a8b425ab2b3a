"""A message's content → its texts, and a text in the user's place → its pieces, each with whether the host wrote it.

What a person typed stands in items of its own, so little has to be told apart: an editor puts open files before the
request, and blocks in the host's or Tacit's own tags may stand around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tacit.ingest.decoding import text_of

_EDITOR = "# Context from my IDE setup:"
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_TAG = (
    r"(tacit-[a-z0-9-]{1,60}|environment_context|user_instructions|turn_aborted|user_shell_command|subagent_notification|"
    r"hook_prompt|skills_instructions|system-reminder)"
)
_OPENING = re.compile(rf"\s*<{_TAG}(?:\s[^<>]{{0,1000}})?>")
_CLOSING = re.compile(rf"</{_TAG}>\s*\Z")
_CLOSING_REACH = 200
_BLOCKS_MAX = 200
_STANDING = ("instructions", "environment_context", "turn_aborted", "resize_notice")
_BEARING = ("<user_shell_command", "<subagent_notification", "<skill>", "<hook_prompt", "<tacit-")
_PEOPLE = "user."


def texts_of(content: Any) -> list[str]:
    """The texts of a content, one for each of its parts; the part of a sealed text that can be read."""
    parts = content if isinstance(content, list) else [content]
    return [text for part in parts if (text := _text(part)) or isinstance(part, dict)]


def skill_named(content: Any) -> str:
    """The skill that a person names with their words."""
    parts = content if isinstance(content, list) else []
    names = (part.get("name") for part in parts if isinstance(part, dict) and part.get("type") == "skill")
    return text_of(next(names, ""))


def told_apart(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text in the user's place into pieces, each with whether the host wrote it."""
    request = _REQUEST.search(text) if text.startswith(_EDITOR) else None
    if request is not None:
        yield text[: request.start()], True
        text = text[request.end() :]
    start, end = _edges(text)
    for piece, hosts in ((text[:start], True), (text[start:end], False), (text[end:], True)):
        if piece.strip():
            yield piece, hosts


def is_kept(text: str, kind: str) -> bool:
    """Whether a text of the host's bears on what the agent did; its standing instructions and lists do not.

    Older versions do not say of what kind a text is, and repeat a person's words here.
    """
    if kind:
        return not kind.startswith(_PEOPLE) and not kind.endswith(_STANDING)
    return text.startswith(_BEARING)


def _text(part: Any) -> str:
    if not isinstance(part, dict):
        return text_of(part)
    sealed = text_of(part.get("encrypted_content"))
    return text_of(part.get("text")) or (sealed if " " in sealed else "")


def _edges(text: str) -> tuple[int, int]:
    """Where the text between the host's blocks at both edges begins and ends."""
    start, end = 0, len(text)
    for _ in range(_BLOCKS_MAX):
        opening = _OPENING.match(text, start, end)
        close = text.find(f"</{opening[1]}>", opening.end(), end) if opening else -1
        if opening and close >= 0:
            start = close + len(opening[1]) + 3
            continue
        closing = _CLOSING.search(text[max(start, end - _CLOSING_REACH) : end])
        begin = text.rfind(f"<{closing[1]}", start, end) if closing else -1
        if begin < 0:
            return start, end
        end = begin
    return end, end  # nobody writes so many blocks by hand
