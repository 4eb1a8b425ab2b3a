"""The card of a project: the commands that a session is likely to need, by purpose, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.domain.fact import Fact, Purpose
from tacit.render.hook_text import plain_line
from tacit.text.words import estimate_tokens

MIN_LIKELIHOOD = 0.2
"""Chosen by leaving out each of twelve real projects in turn (docs/lab.md)."""
MAX_COMMANDS = 12
MAX_TOKENS = 80


def facts_card(facts: Sequence[Fact], *, min_likelihood: float = MIN_LIKELIHOOD) -> str:
    """Return the card; empty where nothing is likely enough to be needed."""
    likely = [fact for fact in facts if fact.likelihood >= min_likelihood][:MAX_COMMANDS]
    while likely:
        lines = [_line(purpose, likely) for purpose in (*Purpose, None)]
        text = "\n".join(filter(None, lines))
        if estimate_tokens(text) <= MAX_TOKENS:
            return text
        likely.pop()
    return ""


def _line(purpose: Purpose | None, facts: Sequence[Fact]) -> str:
    shown = [_command(fact) for fact in facts if fact.purpose == purpose]
    return f"- {purpose or 'other'}: {', '.join(shown)}" if shown else ""


def _command(fact: Fact) -> str:
    command = plain_line(fact.command).replace("`", "'")
    return f"`{command}` in {plain_line(fact.folder)}" if fact.folder else f"`{command}`"
