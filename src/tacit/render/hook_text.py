"""What a hook shows of a lesson, a norm, a preference or the card of facts: plain lines without tags.

Other kinds are shown as blocks (`context`). A line says one thing in at most 60 tokens; more is had on request.
"""

from __future__ import annotations

from tacit.domain.skill import Kind, SkillContent
from tacit.text.safe_markdown import shown_line

LINE_CHARACTERS = 240
LINE_KINDS = frozenset({Kind.LESSON, Kind.NORM, Kind.PREFERENCE, Kind.FACT})
"""Kinds that are shown as lines."""
_DETAILS = " (`tacit skills show {}`)"


def hook_text(content: SkillContent) -> str:
    """Return the lines of a skill of one of the `LINE_KINDS`."""
    if content.kind is Kind.FACT:
        return "\n".join(filter(None, (shown_line(line) for line in content.body.splitlines())))
    line = shown_line(content.description)
    if len(line) <= LINE_CHARACTERS:
        return f"- {line}"
    more = _DETAILS.format(shown_line(content.name))
    return f"- {line[: LINE_CHARACTERS - len(more)].rsplit(' ', 1)[0].rstrip(',;:')}…{more}"
