"""What a hook shows of a lesson, a norm, a preference or the card of facts: plain lines without tags.

Other kinds are shown as blocks (`context`), or by one line where their steps do not fit. A line says one thing in at most 60
tokens; more is had on request. Rules have a bullet of their own, so that nobody takes a sentence for a command.
"""

from __future__ import annotations

import re

from tacit.domain.reach import CARD
from tacit.domain.skill import RULE_KINDS, Kind, SkillContent
from tacit.text.safe_markdown import shown_line

LINE_CHARACTERS = 240
ON_REQUEST = "- less often: "
"""How the line of the card begins that no session starts with: commands that few sessions need."""
LINE_KINDS = frozenset({Kind.LESSON, Kind.NORM, Kind.PREFERENCE, Kind.FACT})
"""Kinds that are shown as lines."""
_DETAILS = " (tacit skills show {})"
_FIX = "**Fix.**"
_CODE = re.compile(r"`([^`]+)`")
_TAG = re.compile(r"<(?=[/!?A-Za-z])")


def hook_text(content: SkillContent) -> str:
    """Return the lines of a skill of one of the `LINE_KINDS`."""
    if content.kind is Kind.FACT and content.name == CARD:
        shown = (line for line in content.body.splitlines() if not line.startswith(ON_REQUEST))
        lines = (plain_line(line).removeprefix("- ") for line in shown)
        return "\n".join(f"- {line}" for line in lines if line)
    described, advice = plain_line(content.description), plain_line(_advice(content))
    line = described if _holds(described, advice) else f"{described} {advice}"
    bullet = "•" if content.kind in RULE_KINDS else "-"
    return f"{bullet} {line}" if len(line) <= LINE_CHARACTERS else f"{bullet} {_shortened(line, content.name)}"


def pointer_line(content: SkillContent) -> str:
    """Return one line on a skill whose steps have no space: what it does, and how to see the steps."""
    described, more = plain_line(content.description), _DETAILS.format(plain_line(content.name))
    whole = f"{described}{more}"
    return f"- {whole}" if len(whole) <= LINE_CHARACTERS else f"- {_shortened(described, content.name)}"


def _shortened(line: str, name: str) -> str:
    more = _DETAILS.format(plain_line(name))
    return f"{line[: LINE_CHARACTERS - len(more)].rsplit(' ', 1)[0].rstrip(',;:')}…{more}"


def plain_line(text: str) -> str:
    """Return a text on one line, without invisible characters and without anything like a tag: no frame is around it."""
    return _TAG.sub("&lt;", shown_line(text))


def _advice(content: SkillContent) -> str:
    """Return what to do, where the description may only say when: the fix, the first paragraph, or the first step."""
    if content.body.startswith("**") and _FIX not in content.body:
        return ""  # what was read of a session: the description says all, the body why
    advised = content.body.partition(_FIX)[2] or content.body
    paragraph = next((part for part in advised.strip().split("\n\n") if not part.startswith("#")), "")
    return paragraph or (content.steps[0].text if content.steps else "")


def _holds(described: str, advice: str) -> bool:
    """Whether the description holds the advice: its commands, or, where it has none, its words."""
    commands = set(_CODE.findall(advice))
    if commands:
        return commands <= set(_CODE.findall(described))
    return advice.casefold().rstrip(".") in described.casefold()
